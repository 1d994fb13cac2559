//! From a host to the addresses that may be connected to. A name is looked up once, and what is connected to is what was looked at.

use super::{Kind, Stop};
use async_trait::async_trait;
use model::address::{Special, special};
use model::target::Target;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::time::timeout;
use wasmtime_wasi_http::Error;

const PATIENCE: Duration = Duration::from_secs(10);
/// Addresses that are tried.
const TRIED: usize = 8;

/// Who knows the addresses of names.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// # Errors
    /// Why there are none.
    async fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>>;
}

/// The operating system's own.
pub struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|a| a.ip()).collect())
    }
}

/// What is special about a host that needs no looking up.
pub fn what_is_near(target: &Target) -> Option<Special> {
    if target.is_localhost() {
        return Some(Special::ThisMachine);
    }
    target.ip().and_then(special)
}

/// The addresses of a host that may be reached. A name that leads to one special address is not reached at the others either: who
/// answers so means harm, or is not what was granted.
pub async fn addresses(resolver: &dyn Resolver, target: &Target) -> Result<Vec<SocketAddr>, Stop> {
    let at = |ip: IpAddr| SocketAddr::new(ip, target.port);
    if let Some(ip) = target.ip() {
        return Ok(vec![at(ip)]);
    }
    if target.is_localhost() {
        return Ok(vec![at(Ipv4Addr::LOCALHOST.into()), at(Ipv6Addr::LOCALHOST.into())]);
    }
    let host = &target.host;
    let unknown = |why: &str| Stop::failed(Error::DnsError { rcode: None, info_code: None }, format!("{host}: {why}"));
    let found = match timeout(PATIENCE, resolver.resolve(host)).await {
        Err(_) => return Err(Stop::failed(Error::DnsTimeout, format!("{host} was not found in time"))),
        Ok(Err(error)) => return Err(unknown(&error.to_string())),
        Ok(Ok(found)) if found.is_empty() => return Err(unknown("it has no address")),
        Ok(Ok(found)) => found,
    };
    if let Some((ip, what)) = found.iter().find_map(|ip| Some((ip, special(*ip)?))) {
        let why = format!("{host} leads to {ip}, which is {what}: name the address itself if that is meant");
        return Err(Stop { code: Error::DestinationIpProhibited, why, is: Kind::Denied });
    }
    Ok(found.into_iter().take(TRIED).map(at).collect())
}
