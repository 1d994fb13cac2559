//! Computes for ever on the first bytes.

kit::codec!(|_, _| {
    let mut n = 0_u64;
    loop {
        n = std::hint::black_box(n.wrapping_add(1));
    }
});
