//! Changes what it is given, and refuses the tool `forbidden`.

kit::hook!(
    |text| format!("{text}!"),
    |tool, input| match tool.as_str() {
        "forbidden" => Err("not this one".into()),
        _ => Ok(format!("{},\"seen\":true}}", input.trim_end_matches('}'))),
    },
    |view| hook_tool_after::ToolView { text: view.text.to_uppercase(), ..view }
);
