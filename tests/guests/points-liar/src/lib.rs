//! Answers what the contract does not allow.

fn flood() -> String {
    "z".repeat((4 << 20) + 1)
}

kit::points!(
    |_| hook_permission::Opinion::Allow,
    |_| hook_message::Said { text: flood(), notes: vec![] },
    |_| "[]".into(),
    |_| vec![flood()],
    |params| hook_params::Params { temperature: Some(f64::NAN), ..params },
    |_| vec![("authorization".into(), "mine".into()), ("x-key".into(), "{{secret:KEY}}".into())],
    |tool| hook_tool_spec::ToolDecl { name: "other".into(), ..tool },
    |_| vec![("PATH".into(), "/evil".into())],
    |_| flood(),
    |plan| hook_compacting::Plan { prompt: Some(flood()), ..plan },
    |_, _| Some("  ".into()),
    |_| (),
);
