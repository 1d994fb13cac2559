//! What the end-to-end tests stand on: the built binary in a hermetic home, and a mock model server that speaks the real wire
//! format and holds every request to the laws of a conversation.

pub mod cases;
pub mod home;
pub mod http2;
pub mod law;
pub mod model_server;
pub mod reply;
pub mod strict;
pub mod tls;
pub mod wire;

pub use home::{Home, Run};
pub use model_server::ModelServer;
pub use reply::Reply;
pub use wire::Wire;
