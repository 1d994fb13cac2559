//! The manifest: what a component asks for, as a custom section of its module.

/// Writes the section `airlock:manifest`: JSON of what the component asks for (`"fs": { "docs": "ro" }, "limits": { "cpu_ms": 3000 }`), with
/// description, version, licence and homepage from `Cargo.toml`. The plugin macros expand it; it is of use by itself nowhere.
#[doc(hidden)]
#[macro_export]
macro_rules! manifest {
    ($($key:literal : $value:tt),* $(,)?) => {
        const _: () = {
            const MANIFEST: &str = concat!(
                "{\"description\":\"", env!("CARGO_PKG_DESCRIPTION"),
                "\",\"version\":\"", env!("CARGO_PKG_VERSION"),
                "\",\"licence\":\"", env!("CARGO_PKG_LICENSE"),
                "\",\"homepage\":\"", env!("CARGO_PKG_HOMEPAGE"), "\"",
                $(",", stringify!($key), ":", stringify!($value),)*
                "}"
            );
            const _: () = assert!(
                $crate::is_plain(env!("CARGO_PKG_DESCRIPTION")),
                "a description must not hold quotes, backslashes or line ends"
            );

            #[cfg_attr(target_family = "wasm", unsafe(link_section = "airlock:manifest"))]
            #[used]
            static SECTION: [u8; MANIFEST.len()] = *MANIFEST.as_bytes().first_chunk().expect("of its own length");
        };
    };
}

/// The text can stand in a JSON string as it is.
#[doc(hidden)]
#[must_use]
pub const fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        if bytes[i] == b'"' || bytes[i] == b'\\' || bytes[i] < b' ' {
            return false;
        }
        i += 1;
    }
    true
}
