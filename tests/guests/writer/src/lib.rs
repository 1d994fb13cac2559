//! Writes the file that its input names, with plain `std::fs`, and says little of what went wrong.

kit::tool!(
    |_, input| match std::fs::write(input.trim_matches(|c| "{}\":file".contains(c)), "written") {
        Ok(()) => text("written"),
        Err(error) => Err(ToolFailure::Failed(format!("no: {error}"))),
    },
    r#"{"fs":{".":"rw"}}"#
);
