//! Leaves a mark at every point; denies the tool `forbidden` and allows everything else.

kit::points!(
    |request| match request.tool.as_str() {
        "forbidden" => hook_permission::Opinion::Deny("not this one".into()),
        "watched" => hook_permission::Opinion::Ask,
        _ => hook_permission::Opinion::Allow,
    },
    |said| hook_message::Said { text: format!("{}!", said.text), notes: vec!["note".into()] },
    |messages| messages.replace("\"long\"", "\"short\""),
    |mut blocks| {
        blocks.push("block".into());
        blocks
    },
    |params| hook_params::Params { temperature: Some(0.5), options: Some("{\"k\":1}".into()), ..params },
    |context| vec![("x-model".into(), context.model)],
    |tool| hook_tool_spec::ToolDecl { description: format!("{} Marked.", tool.description), ..tool },
    |tool| vec![("TOOL".into(), tool), ("LD_PRELOAD".into(), "/evil".into())],
    |text| text.to_uppercase(),
    |plan| hook_compacting::Plan { go_on: false, ..plan },
    |answer, round| (round == 0).then(|| format!("more than {answer:?}")),
    // What an observer prints is the only thing that can be seen of it.
    |event| println!("saw {event}"),
);
