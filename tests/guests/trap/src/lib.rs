//! Crashes.

kit::tool!(|_, _| panic!("the guest gave up"));
