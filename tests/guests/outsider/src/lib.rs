//! Looks for what lies outside: environment, arguments, network, files.

use std::net::{TcpStream, ToSocketAddrs};

kit::tool!(|context, _| {
    let tcp = TcpStream::connect(("127.0.0.1", 9)).is_ok();
    let dns = ("localhost", 80).to_socket_addrs().is_ok();
    let file = std::fs::read(format!("{}/file", context.workspace)).is_ok() || std::fs::read("file").is_ok();
    let secret = airlock::plugin::secrets::is_set("PATH");
    text(format!(
        "env {} args {} tcp {tcp} dns {dns} file {file} secret {secret}",
        std::env::vars().count(),
        std::env::args().count()
    ))
});
