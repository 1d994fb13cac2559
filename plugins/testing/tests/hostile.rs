//! What no server should send, in sizes that no server should send: a typed failure or the true answer, in bounded memory.

use airlock::provider::{Decode, FailureKind, FinishReason, StreamEvent};
use peak_alloc::PeakAlloc;
use testing::flow::{ANTHROPIC, CHAT, Flow, GEMINI, OLLAMA, RESPONSES};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Bytes of the longest line, and as much again while a buffer grows, and once more for what reads it.
const MOST: usize = 48 << 20;

/// How an answer ended that came in these pieces: by its reason, or by its failure. Nothing is kept.
fn end<'a, D: Decode>(flow: &Flow, pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<FinishReason, FailureKind> {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let mut decoder = D::new("m", flow.content_type);
    let mut last = None;
    for piece in pieces {
        last = decoder.push(piece).pop().or(last);
    }
    last = decoder.finish().pop().or(last);
    let peak = MEMORY.peak_usage().saturating_sub(before);
    assert!(peak < MOST, "{}: {peak} bytes", flow.name);
    match last {
        Some(StreamEvent::StepFinish(finish)) => Ok(finish.reason),
        Some(StreamEvent::Failure(failure)) => Err(failure.kind),
        other => panic!("{}: ended in {other:?}", flow.name),
    }
}

fn check<D: Decode>(flow: &Flow) {
    let (answer, mib) = (flow.whole(3), vec![b'x'; 1 << 20]);
    let failed = |start: &str, piece: &[u8], times: usize, expected: FailureKind| {
        let pieces = std::iter::once(start.as_bytes()).chain(std::iter::repeat_n(piece, times));
        assert_eq!(end::<D>(flow, pieces), Err(expected), "{}: {start}…", flow.name);
    };
    // A line of a gigabyte, as text and as what may become JSON.
    failed("data: {\"a\":\"", &mib, 1024, FailureKind::Transport);
    failed("{\"a\":\"", &mib, 1024, FailureKind::Transport);
    failed("data: ", &mib, 1024, FailureKind::Transport);
    // Events that never end, and JSON without a floor.
    failed("data: {\"a\":\n", "data: [\n".repeat(10_000).as_bytes(), 20, FailureKind::Transport);
    failed("data: ", "[".repeat(1 << 20).as_bytes(), 4, FailureKind::Transport);
    failed(&format!("data: {}\n\n", "{\"a\":".repeat(200_000)), b"", 1, FailureKind::Transport);
    // A million empty events say nothing: the answer before or after them is what counts.
    for (empty, thousands) in [("data:\n\n", 1000), ("\n\n", 20), (": still here\n\n", 20)] {
        let flood = empty.repeat(1000);
        let alone = std::iter::repeat_n(flood.as_bytes(), 20);
        assert_eq!(end::<D>(flow, alone), Err(FailureKind::Transport), "{}: {empty:?}", flow.name);
        let head = flow.head();
        let pieces = std::iter::repeat_n(flood.as_bytes(), thousands);
        let around = std::iter::once(head.as_bytes()).chain(pieces).chain([&answer.as_bytes()[head.len()..]]);
        assert_eq!(end::<D>(flow, around), Ok(FinishReason::Stop), "{}: {empty:?}", flow.name);
    }
}

/// One test, since memory is the process's.
#[test]
fn floods_end_in_a_typed_failure_in_bounded_memory() {
    check::<anthropic::Decoder>(&ANTHROPIC);
    check::<openai_chat::Decoder>(&CHAT);
    check::<openai_responses::Decoder>(&RESPONSES);
    check::<gemini::Decoder>(&GEMINI);
    check::<ollama::Decoder>(&OLLAMA);
}
