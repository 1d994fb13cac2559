//! Prints and reports without end of what it has to say.

use airlock::plugin::{log, progress};

kit::tool!(|_, _| {
    let line = "y".repeat(1000);
    for _ in 0..20_000 {
        println!("{line}");
        eprintln!("{line}");
        log::write(log::Level::Debug, &line);
        progress::update(Some(&line), None);
    }
    text("said")
});
