//! How fast each adapter reads an answer, by the size of a read, and writes a conversation. Beside each stands plain `serde_json` with the same
//! bytes: the ratio says more than the time of one machine.
#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use airlock::provider::{Conversation, Decode, Message, Request};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::Value;
use std::hint::black_box;
use testing::flow::{ANTHROPIC, CHAT, Flow, GEMINI, OLLAMA, RESPONSES};
use testing::talk::{assistant, call, decl, result, said, tool, user};

const PIECES: u64 = 6000;

fn decode<D: Decode>(flow: &Flow, body: &[u8], size: usize) -> usize {
    let mut decoder = D::new("m", flow.content_type);
    let events: usize = body.chunks(size).map(|piece| decoder.push(piece).len()).sum();
    events + decoder.finish().len()
}

/// What any reader of this stream has to do.
fn parse(body: &[u8]) -> usize {
    let lines = body.split(|b| *b == b'\n').map(|line| line.strip_prefix(b"data: ").unwrap_or(line));
    lines.filter(|line| line.starts_with(b"{")).map(|line| serde_json::from_slice::<Value>(line).unwrap()).count()
}

fn decoder<D: Decode>(criterion: &mut Criterion, flow: &Flow) {
    let body = flow.whole(PIECES).into_bytes();
    let mut group = criterion.benchmark_group(format!("decode/{}", flow.name));
    group.throughput(Throughput::Elements(PIECES));
    for size in [64, 4096] {
        group.bench_with_input(BenchmarkId::from_parameter(size), &size, |b, size| {
            b.iter(|| decode::<D>(flow, &body, *size));
        });
    }
    group.bench_function("serde_json", |b| b.iter(|| parse(black_box(&body))));
    group.finish();
}

/// A conversation of this many messages, as an agent's: calls, results, now and then a word.
fn history(messages: usize) -> Vec<Message> {
    let step = |n: usize| match n % 4 {
        0 => user("Please look at the files below and tell what they are about."),
        1 => assistant(vec![said("I look."), call(&format!("call_{n}"), &format!("{{\"path\":\"src/file{n}.rs\"}}"))]),
        2 => tool(vec![result(
            &format!("call_{}", n - 1),
            &"fn main() { println!(\"hello\"); }\n".repeat(12),
            false,
            vec![],
        )]),
        _ => assistant(vec![said("It prints a greeting. Shall I go on with the next one?")]),
    };
    (0..messages).map(step).collect()
}

fn encoder<C: Conversation>(criterion: &mut Criterion, name: &str, model: &str) {
    let mut request = Request::new(model, "http://127.0.0.1:9");
    request.system = vec!["You are an agent.".repeat(100)];
    request.tools = (0..12)
        .map(|n| decl(&format!("tool{n}"), r#"{"type":"object","properties":{"path":{"type":"string"}}}"#))
        .collect();
    request.messages = history(10_000);
    let mut group = criterion.benchmark_group(format!("encode/{name}"));
    group.sample_size(10);
    group.bench_function("10000 messages", |b| {
        b.iter_batched(|| request.clone(), |r| C::new(r).encode().unwrap().body.len(), BatchSize::PerIteration);
    });
    let body: Value = serde_json::from_slice(&C::new(request.clone()).encode().unwrap().body).unwrap();
    group.bench_function("serde_json", |b| b.iter(|| serde_json::to_vec(black_box(&body)).unwrap().len()));
    let mut growing = C::new(request);
    growing.encode().unwrap();
    group.bench_function("one more", |b| {
        b.iter(|| {
            growing.append(vec![user("And one more.")]);
            growing.encode().unwrap().body.len()
        });
    });
    group.finish();
}

fn decoders(criterion: &mut Criterion) {
    decoder::<anthropic::Decoder>(criterion, &ANTHROPIC);
    decoder::<openai_chat::Decoder>(criterion, &CHAT);
    decoder::<openai_responses::Decoder>(criterion, &RESPONSES);
    decoder::<gemini::Decoder>(criterion, &GEMINI);
    decoder::<ollama::Decoder>(criterion, &OLLAMA);
}

fn encoders(criterion: &mut Criterion) {
    encoder::<anthropic::Growing>(criterion, "anthropic", "claude-sonnet-4-6");
    encoder::<openai_chat::Growing>(criterion, "openai-chat", "m");
    encoder::<openai_responses::Growing>(criterion, "openai-responses", "m");
    encoder::<gemini::Growing>(criterion, "gemini", "gemini-3-pro-preview");
    encoder::<ollama::Growing>(criterion, "ollama", "m");
}

criterion_group!(benches, decoders, encoders);
criterion_main!(benches);
