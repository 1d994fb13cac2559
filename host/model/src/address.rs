//! Which addresses are no place on the public internet. A name that leads to one of them is how a page, a redirect or a hostile
//! name server reaches what only this machine or its network should reach.
//!
//! Source: IANA's registries of special-purpose addresses for IPv4 and IPv6. What is not known to be public is special.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is special.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    ThisMachine,
    /// Networks at home and at work, carriers' networks included.
    Private,
    /// The cable or the cloud's own services.
    LinkLocal,
    /// To many at once.
    Multicast,
    /// An address that carries another in it, which nobody here can judge.
    Translated,
    /// Set aside for documents, tests or later.
    Reserved,
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ThisMachine => "this machine itself",
            Self::Private => "a private network",
            Self::LinkLocal => "the local link or a cloud's own services",
            Self::Multicast => "a group of machines",
            Self::Translated => "an address inside an address",
            Self::Reserved => "a reserved range",
        })
    }
}

/// `None` for a public address.
#[must_use]
pub fn special(ip: IpAddr) -> Option<Special> {
    match ip {
        IpAddr::V4(ip) => special_v4(ip),
        IpAddr::V6(ip) => special_v6(ip),
    }
}

fn special_v4(ip: Ipv4Addr) -> Option<Special> {
    Some(match ip.octets() {
        [127 | 0, ..] => Special::ThisMachine,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Special::Private,
        [169, 254, ..] => Special::LinkLocal,
        [224..=239, ..] => Special::Multicast,
        [192, 88, 99, _] => Special::Translated,
        [192, 0, 0 | 2, _] | [198, 18 | 19, ..] | [198, 51, 100, _] | [203, 0, 113, _] | [240..=255, ..] => {
            Special::Reserved
        }
        _ => return None,
    })
}

/// Public are those of 2000::/3 that have no other purpose.
fn special_v6(ip: Ipv6Addr) -> Option<Special> {
    if let Some(inner) = ip.to_ipv4_mapped() {
        return Some(special_v4(inner).unwrap_or(Special::Translated));
    }
    Some(match ip.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Special::ThisMachine,
        [0, 0, 0, 0, 0, 0, ..] | [0x64, 0xff9b, ..] | [0x2002, ..] => Special::Translated,
        [0xfc00..=0xfdff, ..] => Special::Private,
        [0xfe80..=0xfeff, ..] => Special::LinkLocal,
        [0xff00..=0xffff, ..] => Special::Multicast,
        // Teredo carries an IPv4 address as well.
        [0x2001, 0, ..] => Special::Translated,
        [0x2001, 1..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Special::Reserved,
        [0x2000..=0x3fff, ..] => return None,
        _ => Special::Reserved,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        use Special::{LinkLocal, Multicast, Private, Reserved, ThisMachine, Translated};
        for (ip, want) in [
            ("127.0.0.1", Some(ThisMachine)),
            ("127.255.255.254", Some(ThisMachine)),
            ("0.0.0.0", Some(ThisMachine)),
            ("0.1.2.3", Some(ThisMachine)),
            ("10.0.0.1", Some(Private)),
            ("172.15.255.255", None),
            ("172.16.0.1", Some(Private)),
            ("172.31.255.255", Some(Private)),
            ("172.32.0.1", None),
            ("192.168.1.1", Some(Private)),
            ("100.63.255.255", None),
            ("100.64.0.1", Some(Private)),
            ("100.127.255.255", Some(Private)),
            ("100.128.0.1", None),
            ("169.254.169.254", Some(LinkLocal)),
            ("192.0.0.8", Some(Reserved)),
            ("192.0.2.1", Some(Reserved)),
            ("192.0.1.1", None),
            ("192.88.99.1", Some(Translated)),
            ("198.17.255.255", None),
            ("198.18.0.1", Some(Reserved)),
            ("198.19.255.255", Some(Reserved)),
            ("198.51.100.7", Some(Reserved)),
            ("203.0.113.7", Some(Reserved)),
            ("224.0.0.1", Some(Multicast)),
            ("239.255.255.255", Some(Multicast)),
            ("240.0.0.1", Some(Reserved)),
            ("255.255.255.255", Some(Reserved)),
            ("1.1.1.1", None),
            ("93.184.216.34", None),
            ("::", Some(ThisMachine)),
            ("::1", Some(ThisMachine)),
            ("::2", Some(Translated)),
            ("::ffff:127.0.0.1", Some(ThisMachine)),
            ("::ffff:10.1.2.3", Some(Private)),
            ("::ffff:8.8.8.8", Some(Translated)),
            ("::127.0.0.1", Some(Translated)),
            ("64:ff9b::7f00:1", Some(Translated)),
            ("64:ff9b:1::1", Some(Translated)),
            ("100::1", Some(Reserved)),
            ("2001::1", Some(Translated)),
            ("2001:1::1", Some(Reserved)),
            ("2001:200::1", None),
            ("2001:db8::1", Some(Reserved)),
            ("2002:7f00:1::", Some(Translated)),
            ("3fff:abc::1", Some(Reserved)),
            ("fc00::1", Some(Private)),
            ("fd00:ec2::254", Some(Private)),
            ("fe80::1", Some(LinkLocal)),
            ("fec0::1", Some(LinkLocal)),
            ("ff02::1", Some(Multicast)),
            ("5f00::1", Some(Reserved)),
            ("2606:4700:4700::1111", None),
            ("2a00:1450::1", None),
        ] {
            assert_eq!(special(ip.parse().unwrap()), want, "{ip}");
        }
    }
}
