//! `airlock plugin …`: what components there are, what they may do, and how others are installed.

mod add;
mod fetch;
mod grants;
mod sign;

use super::session::other;
use super::{Format, Ground, Permits, columns, print, print_foreign, print_json, say};
use crate::config::{Overrides, agents};
use crate::report::{Exit, Report};
use crate::signals;
use crate::tui::{Eyes, Screen};
use crate::wire::{self, Rooms};
use agent::LoneCall;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, Subcommand};
use model::fault::FailureKind;
use model::tool::{Progress, ProgressSink, ToolAttachment, ToolFailure, ToolOutput, ToolSpec};
use runtime::PluginInfo;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// List the plugins that are there
    List(ListArgs),
    /// Show what a plugin or a component file offers and asks for
    Inspect(InspectArgs),
    /// Install a component
    Add(add::AddArgs),
    /// Let a plugin do more
    Grant(grants::GrantArgs),
    /// Let a plugin do less
    Revoke(grants::RevokeArgs),
    /// Look for new versions where the plugins came from
    Update(add::UpdateArgs),
    /// Remove a plugin
    Remove(add::RemoveArgs),
    /// Sign a component that you publish
    Sign(sign::SignArgs),
    /// Run one tool without a model, through the same gate
    Call(CallArgs),
    #[command(external_subcommand)]
    Other(Vec<String>),
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
pub struct InspectArgs {
    /// Name of a plugin, or a component file
    plugin: String,
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
pub struct CallArgs {
    /// Name of the plugin
    plugin: String,
    /// Name of its tool
    tool: String,
    /// The tool's arguments, a JSON object
    json: String,
    /// Work in this folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    permits: Permits,
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Refuse to run programs without the OS sandbox
    #[arg(long)]
    require_sandbox: bool,
}

pub async fn main(command: &'static PluginCommand) -> Result<Exit, Report> {
    match command {
        PluginCommand::List(args) => list(args).await.map(|()| Exit::Well),
        PluginCommand::Inspect(args) => inspect(args).await.map(|()| Exit::Well),
        PluginCommand::Add(args) => add::add(args).await.map(|()| Exit::Well),
        PluginCommand::Grant(args) => grants::grant(args).await.map(|()| Exit::Well),
        PluginCommand::Revoke(args) => grants::revoke(args).await.map(|()| Exit::Well),
        PluginCommand::Update(args) => add::update(args).await.map(|()| Exit::Well),
        PluginCommand::Remove(args) => add::remove(args).await.map(|()| Exit::Well),
        PluginCommand::Sign(args) => sign::sign(args).map(|()| Exit::Well),
        PluginCommand::Call(args) => call(args).await,
        PluginCommand::Other(words) => Err(other("plugin", words, &[])),
    }
}

async fn list(args: &ListArgs) -> Result<(), Report> {
    let runtime = here().await?;
    let plugins = runtime.plugins()?;
    for why in runtime.unsound()? {
        say(&why.to_string());
    }
    match args.format {
        Format::Json => plugins.iter().map(as_json).try_for_each(|p| print_json(&p)),
        Format::Text => print(&columns(&plugins.iter().map(row).collect::<Vec<_>>())),
    }
}

/// With what the config here brings along, unless it is wrong: these commands are there to find out.
async fn here() -> Result<Arc<runtime::Runtime>, Report> {
    let Ok(ground) = Ground::find(None, &Permits::default(), Overrides::default()) else {
        return wire::runtime().await;
    };
    let runtime = wire::runtime_of(&ground).await?;
    runtime.notices().iter().for_each(|notice| say(notice));
    Ok(runtime)
}

async fn inspect(args: &InspectArgs) -> Result<(), Report> {
    let runtime = here().await?;
    let name = args.plugin.clone();
    // A file is compiled, which takes a while and no waiting.
    let looked = tokio::task::spawn_blocking(move || runtime.inspect(&name)).await;
    let info = looked.map_err(|e| Report::internal(format!("the look at {} broke off: {e}", args.plugin)))??;
    match args.format {
        Format::Json => print_json(&as_json(&info)),
        Format::Text => print_foreign(&as_text(&info)),
    }
}

/// What a plugin offers, in a few words.
fn offers(p: &PluginInfo) -> String {
    let tools = p.tools.iter().map(|t| format!("tool {}", t.name));
    let hooks = p.hooks.iter().map(|h| format!("hook {}", h.interface().trim_start_matches("hook-")));
    let provider = p.provider.iter().map(|i| format!("provider {}", i.id));
    tools.chain(hooks).chain(provider).collect::<Vec<_>>().join(", ")
}

fn row(p: &PluginInfo) -> Vec<String> {
    let from = match p.origin {
        runtime::Origin::Bundled => "bundled",
        runtime::Origin::Installed => "installed",
        runtime::Origin::Named => "from the config",
    };
    let text = |t: &Option<String>| t.clone().unwrap_or_default();
    vec![p.name.clone(), text(&p.version), from.into(), offers(p), text(&p.description)]
}

fn as_json(p: &PluginInfo) -> Value {
    let provider = p.provider.as_ref().map(|i| {
        json!({
            "id": i.id, "name": i.name, "secrets": i.secrets, "base_url": i.base_url,
            "models": i.models.iter().map(|m| &m.id).collect::<Vec<_>>(),
        })
    });
    json!({
        "name": p.name, "bundled": p.origin == runtime::Origin::Bundled, "origin": p.origin, "digest": p.digest, "size": p.size,
        "description": p.description, "version": p.version, "licence": p.licence, "homepage": p.homepage,
        "tools": p.tools, "hooks": p.hooks, "provider": provider,
        "publisher": p.publisher, "source": p.source, "grant": p.grant, "imports": p.imports, "exports": p.exports,
        "left_out": p.left_out,
    })
}

fn as_text(p: &PluginInfo) -> String {
    let mut rows = vec![
        vec!["name".into(), p.name.clone()],
        vec!["description".into(), p.description.clone().unwrap_or_default()],
        vec!["version".into(), p.version.clone().unwrap_or_default()],
        vec!["licence".into(), p.licence.clone().unwrap_or_default()],
        vec!["size".into(), format!("{} bytes", p.size)],
        vec!["digest".into(), format!("blake3:{}", p.digest)],
        vec!["signed by".into(), p.publisher.clone().unwrap_or_default()],
        vec!["from".into(), p.source.clone().unwrap_or_default()],
        vec!["offers".into(), offers(p)],
        vec!["rights".into(), p.grant.words()],
    ];
    rows.extend(p.imports.iter().map(|i| vec!["imports".into(), i.clone()]));
    rows.extend(p.exports.iter().map(|e| vec!["exports".into(), e.clone()]));
    rows.extend(p.left_out.iter().map(|l| vec!["leaves out".into(), l.clone()]));
    rows.retain(|r| r.get(1).is_some_and(|cell| !cell.is_empty()));
    columns(&rows)
}

/// What a running call says of itself is not shown: there is nobody to look at it for long.
struct Unseen;

impl ProgressSink for Unseen {
    fn update(&self, _: Progress) {}
}

async fn call(args: &CallArgs) -> Result<Exit, Report> {
    let input = input(&args.json)?;
    let ground = Ground::find(args.dir.as_deref(), &args.permits, Overrides::default())?;
    ground.print_notices();
    let rooms = wire::open(&ground, args.require_sandbox).ready().await?;
    ground.check_permissions(&rooms.runtime)?;
    ground.warn_if_wide();
    installed(&rooms.runtime.names(), &args.plugin)?;
    let plugin = rooms.runtime.inspect(&args.plugin)?;
    let Some(spec) = plugin.tools.iter().find(|t| t.name == args.tool) else {
        let names: Vec<&str> = plugin.tools.iter().map(|t| t.name.as_str()).collect();
        let next =
            if names.is_empty() { "It offers no tools.".into() } else { format!("It has: {}.", names.join(", ")) };
        return Err(Report::usage(format!("the plugin {} has no tool `{}`", args.plugin, args.tool), next));
    };
    if spec.name == "bash" && input.get("background").and_then(Value::as_bool) == Some(true) {
        return Err(Report::usage(
            "a single call leaves no program in the background: it would end with the call",
            "Call it without `background`, or have it done in a run.",
        ));
    }
    let result = judged(args, &ground, &rooms, spec, input).await?;
    show(args.format, &result)?;
    if matches!(&result, Err(f) if f.kind == FailureKind::Denied) {
        say(&format!(
            "Allow it with `--allow PERMISSION[:PATTERN]` (for the tool as such: `--allow {}`), a rule in the config, or --yes.",
            spec.name
        ));
    }
    Ok(exit(&result))
}

/// Only what is installed is run. A component file can be looked at: its tools are not those that the name would reach.
fn installed(names: &[String], name: &str) -> Result<(), Report> {
    let none = || {
        let what = format!("`{name}` is not installed: only installed components can be called");
        Report::usage(what, "`airlock plugin list` shows them; `airlock plugin inspect FILE` looks at a file.")
    };
    if names.iter().any(|n| n == name) { Ok(()) } else { Err(none()) }
}

async fn judged(
    args: &CallArgs,
    ground: &Ground,
    rooms: &Rooms,
    spec: &ToolSpec,
    input: Value,
) -> Result<Result<ToolOutput, ToolFailure>, Report> {
    let screen = Arc::new(Screen::new(Eyes::look()));
    let profile = agents::pick(&ground.config.agents, &ground.config.agent.value)?;
    let policy = wire::policy(ground, &profile);
    let asker = wire::asker(args.permits.yes, &screen, ground);
    let ports = wire::lone_ports(ground, rooms, policy, asker, screen.clone()).await?;
    let call = LoneCall {
        tool: Arc::new(spec.clone()),
        input,
        agent: profile.name,
        directory: ground.place.directory.clone(),
        worktree: ground.place.worktree.clone(),
    };
    let cancel = signals::cancel_on_interrupt();
    let result = agent::call_alone(call, ports, Arc::new(Unseen), cancel).await;
    screen.rest();
    Ok(result)
}

fn exit(result: &Result<ToolOutput, ToolFailure>) -> Exit {
    match result.as_ref().map_err(|f| f.kind) {
        Ok(_) => Exit::Well,
        Err(FailureKind::Denied) => Exit::Denied,
        Err(FailureKind::Interrupted) => Exit::Interrupted,
        Err(FailureKind::InvalidInput) => Exit::Usage,
        Err(_) => Exit::Failed,
    }
}

/// The text alone for people; all of it for programs.
fn show(format: Format, result: &Result<ToolOutput, ToolFailure>) -> Result<(), Report> {
    match (format, result) {
        (Format::Json, Ok(output)) => print_json(&output_json(output)),
        (Format::Json, Err(f)) => print_json(&json!({ "kind": f.kind, "message": f.message })),
        (Format::Text, Ok(output)) => print_foreign(&format!("{}\n", output.text.trim_end_matches('\n'))),
        (Format::Text, Err(f)) => {
            say(&format!("{}: {}", f.kind, f.message));
            Ok(())
        }
    }
}

fn output_json(output: &ToolOutput) -> Value {
    let attachment = |a: &ToolAttachment| json!({ "mime": a.mime, "name": a.name, "data": STANDARD.encode(&a.data) });
    json!({
        "title": output.title,
        "text": output.text,
        "metadata": output.metadata,
        "attachments": output.attachments.iter().map(attachment).collect::<Vec<_>>(),
    })
}

fn input(text: &str) -> Result<Value, Report> {
    let bad = |why: String| {
        let what = format!("the arguments cannot be used: {why}");
        Report::usage(what, "Write them as a JSON object, such as '{\"filePath\": \"README.md\"}'.")
    };
    match serde_json::from_str(text) {
        Ok(object @ Value::Object(_)) => Ok(object),
        Ok(_) => Err(bad("they are JSON, but no object".into())),
        Err(why) => Err(bad(format!("they are not JSON ({why})"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_tells_whose_fault_it_is() {
        let failed = |kind| Err(ToolFailure::new(kind, "no"));
        for (result, code) in [
            (Ok(ToolOutput::default()), 0),
            (failed(FailureKind::Denied), 4),
            (failed(FailureKind::InvalidInput), 2),
            (failed(FailureKind::Interrupted), 130),
            (failed(FailureKind::NotFound), 1),
        ] {
            assert_eq!(exit(&result).code(), code, "{result:?}");
        }
    }

    #[test]
    fn a_file_is_not_called() {
        let report = installed(&[], "./tool.wasm").unwrap_err();
        assert_eq!(report.exit.code(), 2);
        assert!(report.what.contains("./tool.wasm") && report.what.contains("only installed components can be called"));
    }

    #[test]
    fn arguments_are_an_object() {
        assert!(input("{\"a\":1}").is_ok());
        for text in ["", "[]", "{broken", "1"] {
            let report = input(text).unwrap_err();
            assert!(report.what.contains("JSON") && report.exit.code() == 2, "{text}");
        }
    }
}
