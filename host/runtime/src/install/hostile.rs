//! Files that are made to break whoever reads them, as far as they are read before anything is compiled (attack 24). What is asked of
//! each is a typed answer, soon.

use super::signer;
use crate::anatomy::Anatomy;
use std::fmt::Write as _;

fn component() -> Vec<u8> {
    let text = r#"(component
        (import "wasi:io/poll@0.2.0" (instance (export "f" (func (param "x" (list string)) (result u32)))))
        (core module $m (@custom "airlock:manifest" "{\"fs\":{\"docs\":\"ro\"},\"limits\":{\"memory\":1024}}")
            (memory (export "memory") 1) (func (export "list") (result i32) i32.const 0))
        (core instance $i (instantiate $m))
        (func $list (result (list string)) (canon lift (core func $i "list") (memory (core memory $i "memory"))))
        (instance $tool (export "list" (func $list)))
        (export "airlock:plugin/tool@0.1.0" (instance $tool)))"#;
    wat::parse_str(text).unwrap()
}

/// Numbers that look random and are the same in every run (Knuth's constants).
fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below.max(1)
    }
}

fn mutated(seed: u64) -> Vec<u8> {
    let (mut bytes, mut pick) = (component(), numbers(seed));
    for _ in 0..=pick(4) {
        let at = pick(bytes.len());
        match pick(4) {
            0 => bytes[at] ^= 1 << pick(8),
            1 => bytes[at] = u8::try_from(pick(256)).unwrap(),
            2 => bytes.truncate(at.max(8)),
            _ => {
                let piece = bytes[at..(at + 16).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes
}

fn look(bytes: &[u8]) -> bool {
    let read = Anatomy::read("x.wasm", bytes);
    let signed = signer("x.wasm", bytes);
    for error in
        [read.as_ref().err().map(ToString::to_string), signed.err().map(|e| e.to_string())].into_iter().flatten()
    {
        assert!(error.contains("x.wasm") && error.len() < 4096, "{error}");
    }
    read.is_ok()
}

#[test]
fn a_thousand_mutations() {
    assert!(look(&component()));
    let sound = (0..1000).filter(|seed| look(&mutated(*seed))).count();
    assert!((1..999).contains(&sound), "some are sound and some are not: {sound}");
    // Cut between two sections it reads like a whole one that offers less; anywhere else it is damaged.
    let whole = (0..component().len()).filter(|end| look(&component()[..*end])).count();
    assert!(whole < 20, "{whole}");
}

#[test]
fn sizes_and_depths_are_bounded() {
    let mut types = String::from("(component (type $t0 u8)");
    (1..10_000).for_each(|n| {
        let _ = write!(types, "(type $t{n} (list $t{}))", n - 1);
    });
    let nested = wat::parse_str(types + ")").unwrap();
    let custom = |size: usize| {
        let mut bytes = component();
        bytes.push(0);
        let mut left = size;
        while left > 0x7f {
            bytes.push((left & 0x7f) as u8 | 0x80);
            left >>= 7;
        }
        bytes.push(left as u8);
        bytes.extend([1, b'x']);
        bytes.resize(bytes.len() + size - 2, 0);
        bytes
    };
    look(&nested);
    assert!(look(&custom(32 << 20)));
    let large = Anatomy::read("x.wasm", &custom(100 << 20)).unwrap_err().to_string();
    assert!(large.contains("larger than 64 MiB"), "{large}");
    for (bytes, word) in [(&b"PK\x03\x04"[..], "not WebAssembly"), (b"\x1f\x8b\x08", "not WebAssembly")] {
        let error = Anatomy::read("x.wasm", bytes).unwrap_err().to_string();
        assert!(error.contains(word), "an archive is no component: {error}");
    }
}
