//! Makes one macro a world, each with the WIT text inside, from the one copy of the contract. A plugin expands it in its own crate, so
//! the plugin needs no WIT files, and carries the type section of its own world only.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

const PACKAGE: &str = "package airlock:plugin@0.1.0;";
const WORLDS: [(&str, &str); 18] = [
    ("__tool_bindings", "tool-plugin"),
    ("__provider_bindings", "provider-plugin"),
    ("__text_complete_bindings", "text-complete-plugin"),
    ("__tool_before_bindings", "tool-before-plugin"),
    ("__tool_after_bindings", "tool-after-plugin"),
    ("__guard_bindings", "guard-plugin"),
    ("__permission_bindings", "permission-plugin"),
    ("__message_bindings", "message-plugin"),
    ("__messages_bindings", "messages-plugin"),
    ("__system_bindings", "system-plugin"),
    ("__params_bindings", "params-plugin"),
    ("__headers_bindings", "headers-plugin"),
    ("__tool_spec_bindings", "tool-spec-plugin"),
    ("__process_env_bindings", "process-env-plugin"),
    ("__command_bindings", "command-plugin"),
    ("__compacting_bindings", "compacting-plugin"),
    ("__stop_bindings", "stop-plugin"),
    ("__event_bindings", "event-plugin"),
];

fn main() -> io::Result<()> {
    let contract = Path::new("../../wit/v0.1");
    println!("cargo::rerun-if-changed={}", contract.display());
    let wit = package(contract)?;
    let mut macros = String::new();
    for (name, world) in WORLDS {
        let _ = writeln!(macros, "{}", bindings(name, world, &wit));
    }
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("bindings.rs"), macros)
}

/// The files of the package as one text: a text may name its package once.
fn package(folder: &Path) -> io::Result<String> {
    let mut files: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    files.retain(|f| f.path().extension().is_some_and(|e| e == "wit"));
    files.sort_by_key(fs::DirEntry::file_name);
    let mut wit = PACKAGE.to_owned();
    for file in files {
        wit.push_str(&fs::read_to_string(file.path())?.replacen(PACKAGE, "", 1));
    }
    Ok(wit)
}

fn bindings(name: &str, world: &str, wit: &str) -> String {
    format!(
        r####"#[doc(hidden)]
#[macro_export]
macro_rules! {name} {{
    () => {{
        $crate::__private::wit_bindgen::generate!({{
            world: "airlock:plugin/{world}",
            inline: r##"{wit}"##,
            runtime_path: "::airlock::__private::wit_bindgen::rt",
            generate_all,
        }});
    }};
}}"####
    )
}
