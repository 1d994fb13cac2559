//! The wire's shape, read without copies, and as leniently as the field demands: any field may be missing, null or of another type.

use codec::{Loose, Unreadable, count};
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

mod repair;

/// One chunk of a stream, or a whole answer that was not streamed.
#[derive(Default, Deserialize)]
pub struct Chunk<'a> {
    #[serde(borrow, default)]
    pub id: Loose<'a>,
    #[serde(borrow, default)]
    pub model: Loose<'a>,
    #[serde(borrow, default)]
    pub object: Loose<'a>,
    #[serde(borrow, default, rename = "type")]
    pub kind: Loose<'a>,
    #[serde(borrow, default)]
    pub created: Loose<'a>,
    #[serde(borrow, default, rename = "choices", deserialize_with = "first_choice")]
    pub choice: Option<Choice<'a>>,
    #[serde(default)]
    pub usage: Option<Usage>,
    #[serde(default)]
    x_groq: Option<Groq>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

impl Chunk<'_> {
    /// `{"error": …}` and `{"object": "error", …}` are both in use.
    pub fn is_error(&self) -> bool {
        let given = self.error.is_some_and(|e| !matches!(e.get(), "{}" | "false" | "\"\""));
        given || self.object.text() == "error" || self.kind.text() == "error"
    }

    pub fn reported_usage(&self) -> Option<Usage> {
        self.usage.or(self.x_groq.as_ref().and_then(|g| g.usage))
    }
}

#[derive(Default, Deserialize)]
struct Groq {
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Default, Deserialize)]
pub struct Choice<'a> {
    #[serde(borrow, default)]
    index: Loose<'a>,
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    /// In a whole answer, and in the last chunk of some servers.
    #[serde(borrow, default)]
    message: Option<Delta<'a>>,
    #[serde(borrow, default)]
    pub finish_reason: Loose<'a>,
}

impl<'a> Choice<'a> {
    pub fn delta(&self) -> Option<&Delta<'a>> {
        self.delta.as_ref().or(self.message.as_ref())
    }
}

#[derive(Default, Deserialize)]
pub struct Delta<'a> {
    #[serde(borrow, default)]
    pub content: Loose<'a>,
    #[serde(borrow, default)]
    pub refusal: Loose<'a>,
    #[serde(borrow, default)]
    reasoning_content: Loose<'a>,
    #[serde(borrow, default)]
    reasoning: Loose<'a>,
    #[serde(borrow, default)]
    pub reasoning_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub tool_calls: Option<Vec<CallDelta<'a>>>,
    /// The form before `tool_calls`.
    #[serde(borrow, default)]
    pub function_call: Option<Function<'a>>,
}

impl Delta<'_> {
    /// Two names are in use. A server that sends both says the same in each.
    pub fn reasoning(&self) -> &str {
        let first = self.reasoning_content.text();
        if first.is_empty() { self.reasoning.text() } else { first }
    }
}

#[derive(Default, Deserialize)]
pub struct CallDelta<'a> {
    #[serde(borrow, default)]
    index: Loose<'a>,
    #[serde(borrow, default)]
    pub id: Loose<'a>,
    #[serde(borrow, default)]
    pub function: Option<Function<'a>>,
    /// Gemini's signature of a thought, to be sent back with the call.
    #[serde(borrow, default)]
    pub extra_content: Option<&'a RawValue>,
}

impl CallDelta<'_> {
    pub fn index(&self) -> Option<u64> {
        self.index.number()
    }
}

#[derive(Default, Deserialize)]
pub struct Function<'a> {
    #[serde(borrow, default)]
    pub name: Loose<'a>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

impl<'a> Function<'a> {
    /// A piece of JSON text in a string, as the protocol has it, or the arguments themselves, as some servers do.
    pub fn arguments(&self) -> Cow<'a, str> {
        let raw = self.arguments.map_or("", RawValue::get);
        if !raw.starts_with('"') {
            return Cow::Borrowed(raw);
        }
        serde_json::from_str::<Loose<'a>>(raw).map(Loose::into_text).unwrap_or_default()
    }
}

/// Counts as the wire has them; [`None`] where a field is absent.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Usage {
    #[serde(default, deserialize_with = "count")]
    pub prompt_tokens: u64,
    #[serde(default, deserialize_with = "count")]
    pub completion_tokens: u64,
    #[serde(default, deserialize_with = "count")]
    pub total_tokens: u64,
    /// DeepSeek.
    #[serde(default, deserialize_with = "count")]
    pub prompt_cache_hit_tokens: u64,
    /// Moonshot.
    #[serde(default, deserialize_with = "count")]
    pub cached_tokens: u64,
    #[serde(default)]
    pub prompt_tokens_details: Option<PromptDetails>,
    #[serde(default)]
    pub completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct PromptDetails {
    #[serde(default, deserialize_with = "count")]
    pub cached_tokens: u64,
    /// OpenRouter.
    #[serde(default, deserialize_with = "count")]
    pub cache_write_tokens: u64,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct CompletionDetails {
    #[serde(default, deserialize_with = "count")]
    pub reasoning_tokens: u64,
}

/// The choice number 0, without a list: one answer is all that is ever asked for.
fn first_choice<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Choice<'a>>, D::Error> {
    struct First;

    impl<'de> Visitor<'de> for First {
        type Value = Option<Choice<'de>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of choices")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut first = None;
            while let Some(choice) = seq.next_element::<Choice<'de>>()? {
                if first.is_none() && choice.index.number().unwrap_or(0) == 0 {
                    first = Some(choice);
                }
            }
            Ok(first)
        }
    }

    deserializer.deserialize_any(First)
}

/// Reads a chunk and hands it to `then`. What is not quite right is mended on a slow path.
pub fn read<R>(bytes: &[u8], then: impl FnOnce(&Chunk<'_>) -> R) -> Result<R, Unreadable> {
    // A list would be read as the fields of a chunk in turn.
    if bytes.first() == Some(&b'{') {
        match serde_json::from_slice::<Chunk<'_>>(bytes) {
            Ok(chunk) => return Ok(then(&chunk)),
            Err(e) if e.is_eof() => return Err(Unreadable::Incomplete),
            Err(_) => {}
        }
    }
    let mended = repair::mend(bytes)?;
    let chunk = serde_json::from_str::<Chunk<'_>>(&mended).map_err(|_| Unreadable::NotJson)?;
    Ok(then(&chunk))
}
