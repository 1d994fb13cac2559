//! The first look at a component: is it what it should be, can it be linked, and what does it offer? It is run here with no grant
//! at all.

use crate::anatomy::Anatomy;
use crate::bounds::Bounds;
use crate::codec::Session;
use crate::compile::Raw;
use crate::dynamic::{Docs, Reflected, reflect};
use crate::error::RuntimeError;
use crate::fault::Fault;
use crate::instance::Call;
use crate::loader::Loader;
use crate::nobody;
use crate::registry::{About, HookPoint, ProviderInfo, unlinkable};
use crate::state::CallState;
use crate::v0_1::Tool;
use model::tool::ToolSpec;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use wasmtime::component::InstancePre;

/// Tools in one component.
const TOOLS: usize = 256;

/// # Errors
/// The first reason why it cannot be used.
pub fn describe(loader: &Loader, raw: &Raw<'_>, anatomy: Anatomy) -> Result<About, RuntimeError> {
    let name = raw.name;
    if let Some(export) = anatomy.foreign() {
        return Err(RuntimeError::OtherContract { name: name.into(), export: export.into() });
    }
    let provider = provider(loader, raw, &anatomy)?;
    let hooks: Vec<_> = HookPoint::ALL.into_iter().filter(|p| anatomy.exports(p.interface())).collect();
    let Offered { tools, left_out } = if provider.is_none() || anatomy.exports("tool") || !hooks.is_empty() {
        let pre = loader.link_acting(raw)?;
        if anatomy.exports("tool") {
            Offered { tools: tools(loader, name, pre)?, left_out: Vec::new() }
        } else if anatomy.is_of_contract() {
            Offered::default()
        } else {
            bare(name, &pre, &anatomy.docs)?
        }
    } else {
        Offered::default()
    };
    if tools.is_empty() && hooks.is_empty() && provider.is_none() {
        return Err(RuntimeError::NothingExported { name: name.into(), left_out });
    }
    let Anatomy { imports, exports, manifest, docs: _ } = anatomy;
    Ok(About { imports, exports, manifest: manifest.unwrap_or_default(), tools, hooks, provider, left_out })
}

#[derive(Default)]
struct Offered {
    tools: Vec<Arc<ToolSpec>>,
    left_out: Vec<String>,
}

/// The functions of a component that knows nothing of the contract. It is not run.
fn bare(name: &str, pre: &InstancePre<CallState>, docs: &Docs) -> Result<Offered, RuntimeError> {
    let Reflected { functions, left_out } = reflect(pre.component(), pre.engine());
    if functions.len() > TOOLS {
        let why = format!("it exports {} functions, more than {TOOLS}", functions.len());
        return Err(RuntimeError::Description { name: name.into(), why });
    }
    Ok(Offered { tools: functions.iter().map(|f| Arc::new(f.spec(docs))).collect(), left_out })
}

fn provider(loader: &Loader, raw: &Raw<'_>, anatomy: &Anatomy) -> Result<Option<ProviderInfo>, RuntimeError> {
    let name = raw.name;
    if !anatomy.exports("provider") {
        return Ok(None);
    }
    if let Some(import) = anatomy.imports.first() {
        return Err(RuntimeError::ImpureProvider { name: name.into(), import: import.clone() });
    }
    let codec = loader.link_codec(raw)?;
    let session = Session::new(&codec, loader.running(), None, CancellationToken::new());
    let mut session = session.map_err(|f| failed(name, &f))?;
    session.call(|live, store| live.info(store)).map(Some).map_err(|f| failed(name, &f))
}

fn tools(loader: &Loader, name: &str, pre: InstancePre<CallState>) -> Result<Vec<Arc<ToolSpec>>, RuntimeError> {
    let tool = Tool::new(&pre).map_err(|e| unlinkable(name, &e))?;
    let wrong = |why: String| RuntimeError::Description { name: name.into(), why };
    let mut call = Call::new(tool.engine(), nobody::setup(name.into(), Bounds::DESCRIBE), loader.running());
    let listed = alone(async { call.run(&CancellationToken::new(), async |store| tool.list(store).await).await });
    let listed = listed.map_err(|why| wrong(why.to_string()))?.map_err(|fault| failed(name, &fault))?;
    if listed.len() > TOOLS {
        return Err(wrong(format!("it lists {} tools, more than {TOOLS}", listed.len())));
    }
    let specs: Vec<ToolSpec> = listed.into_iter().collect::<Result<_, _>>().map_err(wrong)?;
    let mut names = BTreeSet::new();
    match specs.iter().find(|s| !names.insert(&s.name)) {
        Some(twice) => Err(wrong(format!("it lists the tool `{}` twice", twice.name))),
        None => Ok(specs.into_iter().map(Arc::new).collect()),
    }
}

/// Runs a future to its end whatever the caller's thread is doing: opening the runtime is no asynchronous act, but may happen
/// inside one, where an executor can neither block nor be dropped.
fn alone<T: Send>(future: impl Future<Output = T> + Send) -> std::io::Result<T> {
    let run = || Ok(tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(future));
    std::thread::scope(|scope| {
        let spawned = std::thread::Builder::new().spawn_scoped(scope, run)?;
        spawned.join().map_err(|_| std::io::Error::other("the host failed while it listed the tools"))?
    })
}

fn failed(name: &str, fault: &Fault) -> RuntimeError {
    RuntimeError::Describe { name: name.into(), why: fault.to_string() }
}
