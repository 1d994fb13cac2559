use super::*;
use crate::testing::provider::{answers, calls};
use crate::testing::stage::{FakeGate, stage};
use crate::testing::tools::{Fakes, spec};
use model::question::Answers;

struct Taken;

#[async_trait]
impl HostTool for Taken {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::new(spec("bash", true))
    }
    async fn call(
        &self,
        _: ToolCall,
        _: Arc<dyn ProgressSink>,
        _: CancellationToken,
    ) -> Result<ToolOutput, ToolFailure> {
        Ok(ToolOutput { text: "the host's".into(), ..ToolOutput::default() })
    }
}

#[test]
fn no_component_takes_a_name_of_the_hosts() {
    let bench = Workbench::new(Arc::new(Fakes::default()), vec![Arc::new(Taken)]);
    let names: Vec<String> = bench.specs().iter().map(|s| s.name.clone()).collect();
    assert_eq!(names, ["bash", "read", "write"]);
    assert!(bench.specs()[0].annotations.read_only, "the host's own");
}

const ASKED: &str = r#"{"questions":[{"question":"Which?","header":"Way","options":[{"label":"a"},{"label":"b"}]},
    {"question":"Why?","header":"Why","options":[]}]}"#;

/// What the model reads of its two questions.
async fn questioned(given: Option<Answers>) -> String {
    let mut s = stage(vec![calls(&[("1", "question", ASKED)]), answers("done")]);
    s.gate = FakeGate { answers: given, ..s.gate };
    let left = s.run().await;
    assert_eq!(left.outcome.ending, model::event::Ending::Done, "nobody there does not end the run");
    left.results().remove(0)
}

#[tokio::test(start_paused = true)]
async fn the_model_asks_the_person() {
    let given = vec![vec!["a".to_owned(), "my own".to_owned()], vec![]];
    assert_eq!(questioned(Some(given)).await, "Which?: a, my own\nWhy?: Unanswered");
    let refused = questioned(None).await;
    assert!(refused.starts_with("unavailable: ") && refused.contains("Decide yourself"), "{refused}");
}
