//! Takes memory until there is none.

kit::tool!(|_, _| {
    let mut all: Vec<Vec<u8>> = vec![];
    loop {
        all.push(std::hint::black_box(vec![1; 1 << 20]));
    }
});
