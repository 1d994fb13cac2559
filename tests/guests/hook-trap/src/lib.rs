//! Crashes at every point.

kit::hook!(|_| panic!("text"), |_, _| panic!("before"), |_| panic!("after"));
