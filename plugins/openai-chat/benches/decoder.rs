//! Events a second of the decoder, by the size of a read.

use airlock::provider::Decode;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use openai_chat::Decoder;
use std::fmt::Write as _;

/// About a megabyte of text deltas, each as long as a real server's.
fn stream() -> Vec<u8> {
    let mut body = String::new();
    for n in 0..6000 {
        let _ = write!(
            body,
            "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\
             \"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" word{n}\"}},\"finish_reason\":null}}]}}\n\n"
        );
    }
    body.push_str("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
    body.into_bytes()
}

fn run(body: &[u8], size: usize) -> usize {
    let mut decoder = Decoder::new("m", "text/event-stream");
    let events: usize = body.chunks(size).map(|piece| decoder.push(piece).len()).sum();
    events + decoder.finish().len()
}

fn decoder(criterion: &mut Criterion) {
    let body = stream();
    let mut group = criterion.benchmark_group("decoder");
    for size in [64, 4096] {
        group.throughput(Throughput::Elements(run(&body, size) as u64));
        group.bench_with_input(BenchmarkId::from_parameter(size), &size, |b, size| b.iter(|| run(&body, *size)));
    }
    group.finish();
}

criterion_group!(benches, decoder);
criterion_main!(benches);
