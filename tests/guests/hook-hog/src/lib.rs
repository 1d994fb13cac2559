//! Takes memory at every point until there is none.

fn hog() -> ! {
    let mut all: Vec<Vec<u8>> = vec![];
    loop {
        all.push(std::hint::black_box(vec![1; 1 << 20]));
    }
}

kit::hook!(|_| hog(), |_, _| hog(), |_| hog());
