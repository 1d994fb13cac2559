//! Computes for ever.

kit::tool!(
    |_, _| {
        let mut n = 0_u64;
        while std::hint::black_box(n) != u64::MAX {
            n = n.wrapping_add(1) & 0xffff;
        }
        text("never")
    },
    r#"{"limits":{"cpu_ms":300}}"#
);
