//! Crashes on the first bytes.

kit::codec!(|_, _| panic!("bytes"));
