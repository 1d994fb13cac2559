use super::*;
use airlock::provider::FailureKind::*;

fn headers(list: &[(&str, &str)]) -> Vec<Header> {
    list.iter().map(|(name, value)| Header { name: (*name).into(), value: (*value).into() }).collect()
}

#[test]
fn an_answer_outside_2xx_has_a_kind() {
    let table: &[(u16, &str, FailureKind, bool)] = &[
        (400, include_str!("../../fixtures/error-context-too-long.response.json"), ContextOverflow, false),
        (400, r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#, ContextOverflow, false),
        (400, r#"{"error":{"message":"This model's maximum context length is 8192 tokens."}}"#, ContextOverflow, false),
        (
            400,
            r#"[{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens"}}]"#,
            ContextOverflow,
            false,
        ),
        (413, "", ContextOverflow, false),
        (400, "", ContextOverflow, false),
        (429, r#"{"error":{"message":"Too many tokens, please wait"}}"#, RateLimit, true),
        (
            429,
            r#"{"error":{"code":"rate_limit_exceeded","type":"tokens","message":"Rate limit reached"}}"#,
            RateLimit,
            true,
        ),
        (429, r#"{"error":{"code":"insufficient_quota","type":"insufficient_quota","message":"m"}}"#, Quota, false),
        (429, r#"{"error":{"message":"You exceeded your current quota, please check your plan"}}"#, Quota, false),
        (
            429,
            r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota","details":[{"retryDelay":"34s"}]}}"#,
            RateLimit,
            true,
        ),
        (402, r#"{"error":{"code":402,"message":"This request requires more credits"}}"#, Quota, false),
        (402, "{}", Quota, false),
        (
            401,
            r#"{"error":{"type":"invalid_request_error","code":"invalid_api_key","message":"Incorrect API key"}}"#,
            Auth,
            false,
        ),
        (401, r#"{"detail":"Unauthorized"}"#, Auth, false),
        (403, r#"{"error":{"message":"no access"}}"#, Auth, false),
        (403, r#"{"error":{"message":"Your input was flagged"}}"#, ContentFilter, false),
        (400, r#"{"error":{"code":"content_filter","message":"m"}}"#, ContentFilter, false),
        (
            400,
            r#"{"error":{"code":"tool_use_failed","message":"m","failed_generation":"<f>"}}"#,
            MalformedToolCall,
            true,
        ),
        (400, r#"{"error":{"code":null,"type":"invalid_request_error","message":"bad"}}"#, InvalidRequest, false),
        (404, r#"{"error":{"code":"model_not_found","message":"no such model"}}"#, InvalidRequest, false),
        (422, r#"{"detail":[{"loc":["body"],"msg":"Extra inputs are not permitted"}]}"#, InvalidRequest, false),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#,
            ContextOverflow,
            false,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 9 + 8 > 10, decrease input length or `max_tokens` and try again"}}"#,
            ContextOverflow,
            false,
        ),
        (
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            ContextOverflow,
            false,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}"#,
            Quota,
            false,
        ),
        (402, r#"{"type":"error","error":{"type":"billing_error","message":"m"}}"#, Quota, false),
        (
            429,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 5 input tokens per minute"}}"#,
            RateLimit,
            true,
        ),
        (401, r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#, Auth, false),
        (404, r#"{"type":"error","error":{"type":"not_found_error","message":"model: x"}}"#, InvalidRequest, false),
        (504, r#"{"type":"error","error":{"type":"timeout_error","message":"m"}}"#, Server, true),
        (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Overloaded, true),
        (408, "", Transport, true),
        (500, r#"{"error":{"code":500,"message":"m","type":"server_error"}}"#, Server, true),
        (501, r#"{"error":{"code":501,"message":"m","type":"not_supported_error"}}"#, InvalidRequest, false),
        (502, "bad gateway", Server, true),
        (503, r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#, Overloaded, true),
        (529, "{}", Overloaded, true),
        (302, "", Transport, false),
    ];
    for (status, body, kind, retryable) in table {
        let failure = classify(*status, &[], body.as_bytes());
        assert_eq!((failure.kind, failure.retryable), (*kind, *retryable), "{status} {body}");
        assert!(!failure.message.is_empty());
    }
}

#[test]
fn an_error_in_a_stream_has_a_kind() {
    let table: &[(&str, FailureKind, bool)] = &[
        (r#"{"error":{"code":500,"message":"does not fit the grammar","type":"server_error"}}"#, Server, true),
        (r#"{"error":{"code":400,"message":"bad","type":"invalid_request_error"}}"#, InvalidRequest, false),
        (r#"{"error":{"code":"429","message":"slow"}}"#, RateLimit, true),
        (r#"{"error":{"code":"server_is_overloaded","message":"m"}}"#, Overloaded, true),
        (r#"{"error":{"code":"invalid_prompt","message":"m"}}"#, InvalidRequest, false),
        (r#"{"error":{"code":"usage_not_included","message":"m"}}"#, Quota, false),
        (r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Overloaded, true),
        (r#"{"type":"error","error":{"type":"api_error","message":"m"}}"#, Server, true),
        (r#"{"type":"error","error":{"type":"timeout_error","message":"m"}}"#, Transport, true),
        (r#"{"type":"error","code":"rate_limit_exceeded","message":"Please try again in 1.5s."}"#, RateLimit, true),
        (r#"{"error":"model runner has stopped"}"#, Server, true),
        (r#"{"object":"error","message":"m","type":"BadRequestError","code":400}"#, InvalidRequest, false),
        (r#"{"type":"error","error":{"code":"context_length_exceeded"}}"#, ContextOverflow, false),
        (
            r#"{"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long\"}}"}}}"#,
            ContextOverflow,
            false,
        ),
    ];
    for (error, kind, retryable) in table {
        let failure = in_answer(&serde_json::from_str(error).unwrap());
        assert_eq!((failure.kind, failure.retryable), (*kind, *retryable), "{error}");
        assert!(!failure.message.is_empty());
    }
}

#[test]
fn the_wait_is_read_where_it_is_given() {
    let date = ("Date", "Sun, 29 Nov 2026 20:00:00 GMT");
    type Row<'a> = (&'a [(&'a str, &'a str)], &'a str, Option<u64>);
    let table: &[Row<'_>] = &[
        (&[("Retry-After-Ms", "250"), ("retry-after", "9")], "", Some(250)),
        (&[("retry-after", "2")], "", Some(2000)),
        (&[("retry-after", "0.5")], "", Some(500)),
        (&[("retry-after", "Sun, 29 Nov 2026 20:01:30 GMT"), date], "", Some(90_000)),
        (&[("retry-after", "Sun, 29 Nov 2026 19:00:00 GMT"), date], "", Some(0)),
        (&[("retry-after", "Sun, 29 Nov 2026 20:01:30 GMT")], "", None),
        (&[("retry-after", "-1")], "", None),
        (&[("retry-after", "1e300")], "", None),
        (&[("retry-after", "soon")], "", None),
        (&[], r#"{"error":{"message":"Please try again in 1m2.5s. Visit"}}"#, Some(62_500)),
        (&[], r#"{"error":{"message":"Please try again in 6ms."}}"#, Some(6)),
        (&[], r#"{"error":{"message":"try again in 20 seconds"}}"#, Some(20_000)),
        (&[], r#"{"error":{"message":"try again in a while"}}"#, None),
        (&[], r#"{"error":{"details":[{"x":1},{"retryDelay":"34.2s"}]}}"#, Some(34_200)),
    ];
    for (list, body, expected) in table {
        assert_eq!(classify(429, &headers(list), body.as_bytes()).retry_after_ms, *expected, "{list:?} {body}");
    }
}

#[test]
fn the_server_may_say_whether_to_try_again() {
    assert!(classify(400, &headers(&[("x-should-retry", "true")]), b"{}").retryable);
    assert!(!classify(500, &headers(&[("x-should-retry", "false")]), b"{}").retryable);
}

#[test]
fn a_message_is_one_bounded_line_without_page_text() {
    let page = b"<html><body><h1>secret page</h1></body></html>";
    for (status, list) in [(503, &[("content-type", "text/html")][..]), (401, &[])] {
        let message = classify(status, &headers(list), page).message;
        assert!(message.contains(&status.to_string()) && !message.contains("secret page"), "{message}");
    }
    assert!(classify(503, &headers(&[("content-type", "text/html")]), page).message.contains("text/html"));
    let inside = br#"{"error":{"message":"<html><body>secret page"}}"#;
    assert!(!classify(500, &[], inside).message.contains("secret page"));

    let long = classify(400, &[], format!("{{\"error\":\"{}\"}}", "ä\\n".repeat(100_000)).as_bytes()).message;
    assert!(long.chars().count() < 550 && !long.contains('\n'));
    let said = classify(400, &[], br#"{"error":{"message":"m","failed_generation":"<call>"}}"#).message;
    assert_eq!(said, "m: <call> (HTTP 400)");
}
