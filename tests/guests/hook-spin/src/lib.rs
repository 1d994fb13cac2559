//! Computes for ever at every point.

fn spin() -> ! {
    let mut n = 0_u64;
    loop {
        n = std::hint::black_box(n.wrapping_add(1));
    }
}

kit::hook!(|_| spin(), |_, _| spin(), |_| spin());
