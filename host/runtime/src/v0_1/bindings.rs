//! Generated from `wit/v0.1`.

/// Tools: all imports, async on the host's side.
pub mod tool {
    wasmtime::component::bindgen!({
        path: "../../wit/v0.1",
        world: "tool-plugin",
        imports: {
            "airlock:plugin/ask.permission": async | trappable,
            "airlock:plugin/process.spawn": async | trappable,
            "airlock:plugin/process.spawn-beyond": async | trappable,
            "airlock:plugin/process.[method]child.next": async | trappable,
            "airlock:plugin/process.[method]child.kill": async | trappable,
            default: trappable,
        },
        exports: { default: async },
        with: { "airlock:plugin/process.child": crate::caps::process::Child },
    });
}

/// Every hook point.
pub mod hooks {
    wasmtime::component::bindgen!({
        path: "../../wit/v0.1",
        world: "every-hook-plugin",
        exports: { default: async },
        with: { "airlock:plugin/types": super::tool::airlock::plugin::types },
    });
}

/// Model adapters. Without async: a codec never waits, and a plain call costs half.
pub mod codec {
    wasmtime::component::bindgen!({ path: "../../wit/v0.1", world: "provider-plugin" });
}
