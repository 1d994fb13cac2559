//! Answers that broke off or were garbled on the way, for every adapter. `PROPTEST_CASES=100000` makes a long search of it.

use airlock::provider::{Decode, FinishReason};
use proptest::prelude::*;
use proptest::sample::Index;
use testing::flow::{ANTHROPIC, CHAT, Flow, GEMINI, OLLAMA, RESPONSES};
use testing::laws::decode;
use testing::{chunks, fold};

fn cut_anywhere<D: Decode>(flow: &Flow) {
    let whole = flow.whole(3);
    let mut ends = Vec::new();
    for at in 0..=whole.len() {
        let got = fold(&decode::<D>("m", flow.content_type, &[&whole.as_bytes()[..at]]));
        assert!(got.failure.is_some() || got.text == " word0 word1 word2", "{}: cut at {at} is an answer", flow.name);
        ends.push(got.reason);
    }
    assert_eq!(ends.last(), Some(&Some(FinishReason::Stop)), "{}", flow.name);
}

#[test]
fn a_connection_that_closes_anywhere_is_no_answer() {
    cut_anywhere::<anthropic::Decoder>(&ANTHROPIC);
    cut_anywhere::<openai_chat::Decoder>(&CHAT);
    cut_anywhere::<openai_responses::Decoder>(&RESPONSES);
    cut_anywhere::<gemini::Decoder>(&GEMINI);
    cut_anywhere::<ollama::Decoder>(&OLLAMA);
}

/// What a bad line does to bytes.
#[derive(Clone, Debug)]
enum Harm {
    Changed(Index, u8),
    Lost(Index, usize),
    Twice(Index, usize),
    Between(Index, Vec<u8>),
}

fn harm() -> impl Strategy<Value = Harm> {
    let token = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "\"",
        "\\u",
        "\\ud800",
        "null",
        "-",
        "1e999",
        "\n\n",
        "\r",
        "data:",
        "event: error\n",
        "[DONE]",
    ]);
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Harm::Changed(at, byte)),
        (any::<Index>(), 1..40usize).prop_map(|(at, n)| Harm::Lost(at, n)),
        (any::<Index>(), 1..200usize).prop_map(|(at, n)| Harm::Twice(at, n)),
        (any::<Index>(), token).prop_map(|(at, text)| Harm::Between(at, text.into())),
        (any::<Index>(), prop::collection::vec(any::<u8>(), 1..9)).prop_map(|(at, bytes)| Harm::Between(at, bytes)),
    ]
}

fn harmed(mut body: Vec<u8>, harms: &[Harm]) -> Vec<u8> {
    for harm in harms.iter().filter(|_| !body.is_empty()).cloned().collect::<Vec<_>>() {
        let at = |index: Index, body: &[u8]| if body.is_empty() { 0 } else { index.index(body.len()) };
        match harm {
            Harm::Changed(index, byte) => {
                let at = at(index, &body);
                body.iter_mut().skip(at).take(1).for_each(|b| *b = byte);
            }
            Harm::Lost(index, n) => {
                let at = at(index, &body);
                body.drain(at..(at + n).min(body.len()));
            }
            Harm::Twice(index, n) => {
                let at = at(index, &body);
                let again = body[at..(at + n).min(body.len())].to_vec();
                body.splice(at..at, again);
            }
            Harm::Between(index, bytes) => {
                let at = at(index, &body);
                body.splice(at..at, bytes);
            }
        }
    }
    body
}

/// It ends, in order, the same at any cut; and it is never an answer without the server's word for its end.
fn check<D: Decode>(flow: &Flow, harms: &[Harm], sizes: &[usize]) {
    let body = harmed(flow.whole(3).into_bytes(), harms);
    let whole = decode::<D>("m", flow.content_type, &[&body]);
    let got = fold(&whole);
    assert!(got.failure.is_none_or(|f| f.message.chars().count() < 700), "{}", flow.name);
    assert_eq!(decode::<D>("m", flow.content_type, &chunks(&body, sizes)), whole, "{}", flow.name);
}

proptest! {
    #[test]
    fn a_garbled_answer_ends_all_the_same(harms in prop::collection::vec(harm(), 1..6), sizes in prop::collection::vec(1..80usize, 1..6)) {
        check::<anthropic::Decoder>(&ANTHROPIC, &harms, &sizes);
        check::<openai_chat::Decoder>(&CHAT, &harms, &sizes);
        check::<openai_responses::Decoder>(&RESPONSES, &harms, &sizes);
        check::<gemini::Decoder>(&GEMINI, &harms, &sizes);
        check::<ollama::Decoder>(&OLLAMA, &harms, &sizes);
    }
}
