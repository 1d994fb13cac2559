//! A decoder keeps nothing of the text that it gave out: memory does not grow with the length of an answer.

use airlock::provider::{Decode, StreamEvent};
use peak_alloc::PeakAlloc;
use testing::flow::{ANTHROPIC, CHAT, Flow, GEMINI, OLLAMA, RESPONSES};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Bytes that a decoder may hold while it reads.
const MOST: usize = 64 << 10;

/// The most memory that was held at once while an answer of `pieces` pieces was read. The answer is never there as a whole.
fn peak<D: Decode>(flow: &Flow, pieces: u64) -> usize {
    let mut decoder = D::new("m", flow.content_type);
    drop(decoder.push(flow.head().as_bytes()));
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    for n in 0..pieces {
        drop(decoder.push(flow.piece(n).as_bytes()));
    }
    let peak = MEMORY.peak_usage().saturating_sub(before);
    drop(decoder.push(flow.tail().as_bytes()));
    let end = decoder.finish();
    assert!(end.is_empty() || matches!(end.last(), Some(StreamEvent::StepFinish(_))), "{}: {end:?}", flow.name);
    peak
}

fn check<D: Decode>(flow: &Flow) {
    let few = peak::<D>(flow, 1000);
    let many = peak::<D>(flow, 10_000);
    assert!(few < MOST && many <= few + 1024, "{}: {few} bytes for a thousand pieces, {many} for ten", flow.name);
}

/// One test, since memory is the process's.
#[test]
fn memory_does_not_grow_with_an_answer() {
    check::<anthropic::Decoder>(&ANTHROPIC);
    check::<openai_chat::Decoder>(&CHAT);
    check::<openai_responses::Decoder>(&RESPONSES);
    check::<gemini::Decoder>(&GEMINI);
    check::<ollama::Decoder>(&OLLAMA);
}
