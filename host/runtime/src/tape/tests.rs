use super::*;
use crate::http::Answer;
use bytes::Bytes;

fn outgoing(body: &str) -> Outgoing {
    Outgoing {
        method: "POST".into(),
        url: "http://127.0.0.1:1/v1/chat".into(),
        headers: vec![("Authorization".into(), "Bearer {{secret:KEY}}".into())],
        body: body.into(),
    }
}

fn stream(pieces: Vec<Result<Bytes, ProviderFailure>>) -> Reply {
    let body = Body::new(futures::stream::iter(pieces).boxed(), Veiled::default(), Duration::from_secs(9));
    Reply::Stream { head: Head { status: 200, headers: vec![("content-type".into(), "text/x".into())] }, body }
}

fn broke() -> ProviderFailure {
    crate::http::transport("it broke".into(), true)
}

/// All that is told of a reply.
async fn heard(reply: Result<Reply, ProviderFailure>) -> (String, Option<ProviderFailure>) {
    match reply {
        Err(failure) => ("failure".into(), Some(failure)),
        Ok(Reply::Refused(answer)) => (format!("{} {}", answer.status, String::from_utf8_lossy(&answer.body)), None),
        Ok(Reply::Stream { head, mut body }) => {
            let mut all = format!("{} {}: ", head.status, head.content_type()).into_bytes();
            loop {
                match body.read().await {
                    Ok(Some(bytes)) => all.extend_from_slice(&bytes),
                    Ok(None) => return (String::from_utf8_lossy(&all).into_owned(), None),
                    Err(failure) => return (String::from_utf8_lossy(&all).into_owned(), Some(failure)),
                }
            }
        }
    }
}

async fn record(dir: &Path, body: &str, reply: Result<Reply, ProviderFailure>) -> (String, Option<ProviderFailure>) {
    let tape = Tape::record(dir, vec![]).unwrap();
    heard(tape.exchange(outgoing(body), &[], |_| async { reply }).await).await
}

async fn play(tape: &Tape, body: &str) -> (String, Option<ProviderFailure>) {
    heard(tape.exchange(outgoing(body), &[], |_| async { panic!("a replay sends nothing") }).await).await
}

#[tokio::test]
async fn what_was_recorded_is_played() {
    let refused = || Reply::Refused(Answer { status: 429, headers: vec![], body: b"slow".to_vec() });
    let pieces = || vec![Ok(Bytes::from_static(b"on")), Ok(Bytes::from_static(b"e \xff two"))];
    for make in [
        &(|| Ok(stream(pieces()))) as &dyn Fn() -> Result<Reply, ProviderFailure>,
        &|| Ok(stream(pieces().into_iter().chain([Err(broke())]).collect())),
        &|| Ok(refused()),
        &|| Err(broke()),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let recorded = record(dir.path(), r#"{"a": 1}"#, make()).await;
        let tape = Tape::replay(dir.path(), vec![], Pace::AtOnce).unwrap();
        assert_eq!(play(&tape, r#"{"a": 1}"#).await, recorded);
        let (_, at_end) = play(&tape, r#"{"a": 1}"#).await;
        assert!(at_end.unwrap().message.contains("at its end"));
    }
}

#[tokio::test]
async fn a_tape_may_be_played_with_its_pauses() {
    let dir = tempfile::tempdir().unwrap();
    let pause = Duration::from_millis(60);
    let pieces = futures::stream::iter([&b"on"[..], b"e"]).then(move |piece| async move {
        tokio::time::sleep(pause).await;
        Ok(Bytes::from_static(piece))
    });
    let body = Body::new(pieces.boxed(), Veiled::default(), Duration::from_secs(9));
    let recorded = record(dir.path(), "{}", Ok(Reply::Stream { head: Head::default(), body })).await;
    let tape = Tape::replay(dir.path(), vec![], Pace::AsRecorded).unwrap();
    let begun = tokio::time::Instant::now();
    assert_eq!(play(&tape, "{}").await, recorded);
    // What is waited can be longer, never shorter; a recording counts whole milliseconds.
    assert!(begun.elapsed() >= (pause - Duration::from_millis(1)) * 2, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_request_that_differs_is_refused_with_the_difference() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), r#"{"a": {"b": "one"}}"#, Ok(stream(vec![]))).await;
    let tape = Tape::replay(dir.path(), vec![], Pace::AtOnce).unwrap();
    let failure = play(&tape, r#"{"a": {"b": "two"}}"#).await.1.unwrap();
    assert_eq!((failure.kind, failure.retryable), (FailureKind::InvalidRequest, false));
    for word in ["0001.json", "`/a/b`", "one", "two"] {
        assert!(failure.message.contains(word), "{failure}");
    }
    assert_eq!(play(&tape, r#"{"a": {"b": "one"}}"#).await.1, None, "the recorded one is still there");
}

#[tokio::test]
async fn a_tape_plays_in_another_place() {
    let dir = tempfile::tempdir().unwrap();
    let stand_ins = |folder: &str| vec![(folder.to_owned(), "{{workspace}}")];
    let own = |session: &str| [(session.to_owned(), "{{session}}")];
    let body = |folder: &str, session: &str| format!(r#"{{"user": "{session}", "text": "in {folder}/src"}}"#);
    let tape = Tape::record(dir.path(), stand_ins("/home/a")).unwrap();
    let first = own("ses_1");
    let sent = tape.exchange(outgoing(&body("/home/a", "ses_1")), &first, |out| async move {
        assert!(String::from_utf8_lossy(&out.body).contains("/home/a/src"), "what is sent is not changed");
        Ok(stream(vec![]))
    });
    heard(sent.await).await;
    let text = fs::read_to_string(dir.path().join("0001.json")).unwrap();
    assert!(!text.contains("/home/a") && !text.contains("ses_1") && text.contains("{{secret:KEY}}"), "{text}");
    let tape = Tape::replay(dir.path(), stand_ins("/srv/b"), Pace::AtOnce).unwrap();
    let reply = tape.exchange(outgoing(&body("/srv/b", "ses_2")), &own("ses_2"), |_| async { panic!("sent") }).await;
    assert_eq!(heard(reply).await.1, None);
}

#[tokio::test]
async fn an_answer_that_nobody_hears_out_is_kept_as_far_as_it_was_heard() {
    let dir = tempfile::tempdir().unwrap();
    let tape = Tape::record(dir.path(), vec![]).unwrap();
    let pending = futures::stream::iter([Ok(Bytes::from_static(b"half"))]).chain(futures::stream::pending()).boxed();
    let body = Body::new(pending, Veiled::default(), Duration::from_secs(9));
    let reply = Reply::Stream { head: Head { status: 200, headers: vec![] }, body };
    let Ok(Reply::Stream { mut body, .. }) = tape.exchange(outgoing("{}"), &[], |_| async { Ok(reply) }).await else {
        panic!("a stream")
    };
    body.read().await.unwrap();
    drop(body);
    let tape = Tape::replay(dir.path(), vec![], Pace::AtOnce).unwrap();
    assert_eq!(play(&tape, "{}").await.0, "200 : half");
}

#[test]
fn a_folder_is_recorded_into_once_and_an_empty_one_plays_nothing() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Tape::replay(dir.path(), vec![], Pace::AtOnce), Err(TapeError::Empty { .. })));
    fs::write(dir.path().join("0001.json"), "{}").unwrap();
    assert!(matches!(Tape::record(dir.path(), vec![]), Err(TapeError::Used { .. })));
    assert!(matches!(Tape::replay(dir.path(), vec![], Pace::AtOnce), Err(TapeError::Unreadable { .. })));
}
