//! Answers what the contract does not allow.

kit::hook!(|_| "z".repeat((4 << 20) + 1), |_, _| Ok("[1]".into()), |view| hook_tool_after::ToolView {
    text: "changed".into(),
    metadata: "no object".into(),
    ..view
});
