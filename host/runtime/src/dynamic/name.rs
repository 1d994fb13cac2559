//! Names of tools made from names of exports.

/// Bytes of a name that every model provider takes.
const FITS_ALL: usize = 64;
/// Bytes of a name by the convention.
const LONGEST: usize = 128;
/// Hexadecimal digits that tell shortened names apart.
const MARK: usize = 8;

/// Functions that compilers of guests export for themselves.
const TOOLCHAIN: &[&str] = &["init", "run-ctors", "initialize"];

/// Whether an export is there for the host of a toolchain and offers nothing.
pub fn is_toolchains(interface: Option<&str>, function: &str) -> bool {
    match interface {
        None => TOOLCHAIN.contains(&function) || function.starts_with("cabi-"),
        // componentize-py exports an interface of this name; `wasi:cli/run` and its like are for hosts that run programs.
        Some(interface) => interface == "exports" || interface.starts_with("wasi:"),
    }
}

/// `local:time-server/time` with `get-current-time` is `local_time-server_time_get-current-time`. What no provider takes because it
/// is too long keeps its end, behind a mark made of the whole.
///
/// # Errors
/// A name beyond the convention's length.
pub fn of_tool(path: &[String]) -> Result<String, &'static str> {
    let whole: String = path.join("_").chars().map(plain).collect();
    match whole.len() {
        0 => Err("it has no name"),
        1..=FITS_ALL => Ok(whole),
        len if len <= LONGEST => Ok(shortened(&whole)),
        _ => Err("its name is longer than 128 characters"),
    }
}

fn plain(c: char) -> char {
    match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '_' | '-') => c,
        _ => '_',
    }
}

fn shortened(whole: &str) -> String {
    let mark = blake3::hash(whole.as_bytes()).to_hex();
    let rest = FITS_ALL - MARK - 2;
    format!("x{}_{}", &mark[..MARK], &whole[whole.len() - rest..])
}
