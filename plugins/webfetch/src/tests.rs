use super::*;
use std::collections::VecDeque;

/// Gives these replies, and keeps what was asked for, and as whom.
#[derive(Default)]
struct Script {
    replies: VecDeque<Reply>,
    asked: Vec<(String, String)>,
}

impl Web for Script {
    fn get(&mut self, url: &str, agent: &str, _: &str, _: Duration) -> Result<Reply, Lost> {
        self.asked.push((url.to_owned(), agent.to_owned()));
        self.replies.pop_front().ok_or(Lost::TimedOut)
    }
}

fn reply(status: u16, headers: &[(&str, &str)], body: &str) -> Reply {
    let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    Reply { status, headers, body: body.into(), cut: false }
}

fn run(url: &str, replies: &[Reply]) -> (Result<ToolOutput, ToolFailure>, Vec<(String, String)>) {
    let mut web = Script { replies: replies.iter().cloned().collect(), asked: vec![] };
    let input = Input { url: url.into(), format: Format::Markdown, timeout: None };
    (fetch(&mut web, &input), web.asked)
}

#[test]
fn a_page_is_given_as_a_reader_sees_it() {
    let page = "<html><head><title>T</title><style>p{}</style></head><body><h1>Head</h1><script>x('<p>no')</script>
        <p>One <b>two</b>
        <a href='/x y'>three</a>.</p></body></html>";
    let html = reply(200, &[("content-type", "text/html; charset=utf-8")], page);
    let (output, asked) = run("https://a.org/p?q#f", &[html]);
    assert_eq!(output.unwrap().text, "# Head\n\nOne **two** [three](https://a.org/x%20y).");
    assert_eq!((asked.len(), asked[0].0.as_str()), (1, "https://a.org/p?q"));
    let plain = reply(200, &[("content-type", "text/plain")], "<b>as it is</b>");
    assert_eq!(run("https://a.org", &[plain]).0.unwrap().text, "<b>as it is</b>");
}

/// Each hop is judged by the host; to another place it is the model's to ask again.
#[test]
fn redirects() {
    let to = |location: &str| reply(302, &[("location", location)], "");
    let (output, asked) = run("https://a.org/x/y", &[to("../z"), reply(200, &[], "<p>there")]);
    assert_eq!((output.unwrap().text.as_str(), asked[1].0.as_str()), ("there", "https://a.org/x/../z"));
    for location in ["https://b.org/p", "//b.org/p", "http://a.org/p", "https://a.org:8443/p"] {
        let (output, asked) = run("https://a.org/x", &[to(location)]);
        let text = output.unwrap().text;
        assert!(text.contains("another place") && text.contains(location.trim_start_matches("//")), "{text}");
        assert_eq!(asked.len(), 1, "{location}");
    }
    let circle: Vec<_> = (0..50).map(|_| to("/x")).collect();
    let (output, asked) = run("https://a.org/x", &circle);
    assert!(output.is_err() && asked.len() == 6, "{asked:?}");
}

#[test]
fn what_is_no_page_is_said() {
    let image = reply(200, &[("content-type", "image/png")], "png");
    let output = run("https://a.org/i", &[image]).0.unwrap();
    assert_eq!(
        (output.attachments[0].mime.as_str(), output.attachments[0].data.as_slice()),
        ("image/png", &b"png"[..])
    );
    let check = |replies: &[Reply], part: &str| {
        let failure = run("https://a.org/x", replies).0.unwrap_err();
        assert!(failure.message().contains(part), "{failure:?}");
    };
    check(&[reply(404, &[], "")], "status 404");
    check(&[reply(200, &[("content-type", "application/zip")], "PK\0")], "no text (application/zip)");
    check(&[Reply { cut: true, ..reply(200, &[], "x") }], "larger than 5 MiB");
    check(&[], "did not answer within 30s");
    for url in ["ftp://a.org", "a.org", "file:///etc/passwd", "https://"] {
        assert!(matches!(run(url, &[]).0, Err(ToolFailure::InvalidInput(_))), "{url}");
    }
}

#[test]
fn a_challenge_for_browsers_is_answered_honestly_once() {
    let challenge = || reply(403, &[("cf-mitigated", "challenge")], "");
    let (output, asked) = run("https://a.org", &[challenge(), challenge(), reply(200, &[], "no")]);
    assert!(output.is_err() && asked.len() == 2 && asked[1].1 == HONEST, "{asked:?}");
}

#[test]
fn the_models_patience_has_bounds() {
    assert_eq!(patience(Some(900.0)).unwrap(), Duration::from_secs(120));
    assert_eq!(patience(Some(0.5)).unwrap(), Duration::from_millis(500));
    assert!(patience(Some(0.0)).is_err() && patience(Some(f64::NAN)).is_err());
}

#[test]
fn html() {
    for (html, markdown, text) in [
        ("a<br>b", "a\nb", "a\nb"),
        ("<p>a</p><p>b</p>", "a\n\nb", "a\n\nb"),
        ("<ul><li>a<li>b<ol><li>c</ol></ul>d", "- a\n- b\n  1. c\n\nd", "- a\n- b\n  1. c\n\nd"),
        ("<ol start=3><li>a</li><li>b</li></ol>", "3. a\n4. b", "3. a\n4. b"),
        ("<pre><code>x\n  y &lt;</code></pre>z", "```\nx\n  y <\n```\n\nz", "x\n  y <\n\nz"),
        ("say <code>x</code>, <em>y</em>", "say `x`, *y*", "say x, y"),
        ("<a href='javascript:x()'>a</a> <a href=#b>b</a> <a href=c>c</a>", "a b [c](https://a.org/c)", "a b c"),
        ("<a href=x></a>e<b></b>", "e", "e"),
        ("<img src=i.png alt=pic><img src=j.png>", "![pic](https://a.org/i.png)", "pic"),
        ("<table><tr><td>a<td>b<tr><td>c<td>d</table>", "a | b\nc | d", "a | b\nc | d"),
        ("<blockquote>q</blockquote>a<hr>b", "> q\n\na\n\n---\n\nb", "q\n\na\n\n---\n\nb"),
        ("a&nbsp;&amp;&eacute;&#x41;", "a\u{a0}&éA", "a\u{a0}&éA"),
        ("<svg><svg>x</svg>y</svg>z<template>t</template>", "z", "z"),
        ("<textarea><b>x</textarea>", "<b>x", "<b>x"),
        ("</li></ul></pre></a>x<!-- c -->", "x", "x"),
    ] {
        assert_eq!(Format::Markdown.render(html, "https://a.org/p"), markdown, "{html}");
        assert_eq!(Format::Text.render(html, "https://a.org/p"), text, "{html}");
        assert_eq!(Format::Html.render(html, "https://a.org/p"), html);
    }
}

#[test]
fn texts_of_other_days() {
    assert_eq!(page::decode(b"caf\xe9", "ISO-8859-1").as_deref(), Some("café"));
    assert_eq!(page::decode("café".as_bytes(), "\"utf-8\"").as_deref(), Some("café"));
    assert_eq!(page::decode(b"a\0b", ""), None);
}
