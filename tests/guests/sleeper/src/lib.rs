//! Sleeps, which no deadline of computing ends.

kit::tool!(
    |_, _| {
        std::thread::sleep(std::time::Duration::from_secs(3600));
        text("awake")
    },
    r#"{"limits":{"wall_ms":1500}}"#
);
