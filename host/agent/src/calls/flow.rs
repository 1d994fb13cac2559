//! Labels of what a session has read lie with the calls that brought them in: so they outlive the process, a summary and a fork.

use model::flow::Labels;
use model::message::{PartBody, WithParts};
use model::tool_state::{Metadata, ToolState};

const LABELS: &str = "labels";

/// Notes what a family has read of, once this call has ended.
pub(super) fn note(metadata: &mut Metadata, labels: &Labels) {
    if let Ok(labels) = serde_json::to_value(labels) {
        metadata.insert(LABELS.into(), labels);
    }
}

/// All that a session of this history has read of.
pub(crate) fn of_history(history: &[WithParts]) -> Labels {
    let mut all = Labels::default();
    history.iter().flat_map(|m| &m.parts).filter_map(|p| noted(&p.body)).for_each(|labels| all.join(&labels));
    all
}

fn noted(body: &PartBody) -> Option<Labels> {
    let PartBody::Tool(tool) = body else { return None };
    match &tool.state {
        ToolState::Completed { metadata, .. } | ToolState::Error { metadata, .. } => {
            metadata.get(LABELS).and_then(|labels| serde_json::from_value(labels.clone()).ok())
        }
        ToolState::Pending { .. } | ToolState::Running { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::flow::Label;

    #[test]
    fn labels_are_found_again_in_the_calls_that_brought_them() {
        let part = |labels: &[Label]| {
            let mut metadata = Metadata::new();
            note(&mut metadata, &labels.iter().copied().collect());
            crate::testing::history::called(metadata)
        };
        let plain = crate::testing::history::called(Metadata::new());
        let history = [plain, part(&[Label::Web]), part(&[Label::Web, Label::Secret])];
        assert_eq!(of_history(&history), [Label::Web, Label::Secret].into_iter().collect());
    }
}
