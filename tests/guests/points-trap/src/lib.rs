//! Crashes at every point.

kit::points!(
    |_| panic!("permission"),
    |_| panic!("message"),
    |_| panic!("messages"),
    |_| panic!("system"),
    |_| panic!("params"),
    |_| panic!("headers"),
    |_| panic!("tool-spec"),
    |_| panic!("process-env"),
    |_| panic!("command"),
    |_| panic!("compacting"),
    |_, _| panic!("stop"),
    |_| panic!("event"),
);
