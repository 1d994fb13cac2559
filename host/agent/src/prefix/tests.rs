use super::*;
use crate::testing::history::{part, user};
use crate::testing::{profile, session};
use async_trait::async_trait;
use model::hook::NoHooks;

fn given(list: &[(&str, &str)]) -> Vec<Instruction> {
    list.iter().map(|(s, t)| Instruction { source: (*s).into(), text: (*t).into() }).collect()
}

/// What each run adds, with the instructions as they are then; and the blocks that it sends.
async fn runs(each: &[&[(&str, &str)]]) -> Vec<(Vec<String>, Vec<Arc<str>>)> {
    let (session, profile) = (session(), profile());
    let mut history = vec![];
    let mut out = vec![];
    for now in each {
        let prefix = freeze(&session, &profile, &given(now), &history, &NoHooks).await;
        let mut message = user("hi");
        message.parts.extend(prefix.news.iter().cloned().map(part));
        history.push(message);
        let texts = prefix.news.into_iter().filter_map(|b| match b {
            PartBody::Text(t) => Some(t.text),
            _ => None,
        });
        out.push((texts.collect(), prefix.blocks));
    }
    out
}

#[tokio::test]
async fn the_blocks_stay_and_changes_are_told_once() {
    let left = runs(&[
        &[("A", "one")],
        &[("A", "one")],
        &[("A", "two"), ("B", "new")],
        &[("A", "two"), ("B", "new")],
        &[("A", "one")],
        &[("A", "one")],
    ])
    .await;
    let news: Vec<Vec<String>> = left.iter().map(|(news, _)| news.clone()).collect();
    let now = |text: &str| format!("These instructions hold from now on.\n{text}");
    assert_eq!(
        news,
        [
            vec![],
            vec![],
            vec![now("two"), now("new")],
            vec![],
            vec![now("one"), "The instructions from B hold no longer.".into()],
            vec![],
        ]
    );
    assert!(left.iter().all(|(_, blocks)| *blocks == left[0].1), "the blocks are the same bytes in every run");
    assert_eq!(left[0].1.last().map(|b| &**b), Some("one"));
}

#[tokio::test]
async fn another_agent_or_model_begins_anew() {
    let (mut session, mut profile) = (session(), profile());
    let first = freeze(&session, &profile, &given(&[("A", "one")]), &[], &NoHooks).await;
    let mut message = user("hi");
    message.parts.extend(first.news.into_iter().map(part));
    let history = [message];
    assert!(!freeze(&session, &profile, &given(&[("A", "two")]), &history, &NoHooks).await.is_fresh);
    profile.name = "plan".into();
    assert!(freeze(&session, &profile, &given(&[("A", "two")]), &history, &NoHooks).await.is_fresh);
    profile.name = "build".into();
    session.model.model = "other".into();
    let other = freeze(&session, &profile, &given(&[("A", "two")]), &history, &NoHooks).await;
    assert_eq!(other.blocks.last().map(|b| &**b), Some("two"));
}

struct Shouting;
#[async_trait]
impl Hooks for Shouting {
    async fn system(&self, _: &TurnContext, blocks: Vec<String>) -> Vec<String> {
        blocks.into_iter().map(|b| b.to_uppercase()).collect()
    }
}

#[tokio::test]
async fn what_a_hook_makes_of_the_blocks_is_frozen_with_them() {
    let (session, profile) = (session(), profile());
    let first = freeze(&session, &profile, &given(&[("A", "one")]), &[], &Shouting).await;
    assert_eq!(first.blocks.last().map(|b| &**b), Some("ONE"));
    let mut message = user("hi");
    message.parts.extend(first.news.into_iter().map(part));
    let second = freeze(&session, &profile, &given(&[("A", "one")]), &[message], &NoHooks).await;
    assert_eq!((second.blocks, second.news.len()), (first.blocks, 0));
}
