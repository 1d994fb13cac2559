//! What a model accepts, by its version. Source: the vendor's "what's new" and migration pages of each model (platform.claude.com/docs,
//! November 2026). A model that is none of the vendor's gets all that the request asks for.

/// How a model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// With a budget, where it is asked for.
    Budget,
    /// As it sees fit, where it is asked for.
    OnRequest,
    /// As it sees fit, unless it is switched off.
    ByDefault,
    /// It cannot be switched off.
    Always,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    pub thinking: Thinking,
    /// `temperature` is accepted.
    pub sampling: bool,
    /// A tool can be forced.
    pub forced_tools: bool,
    /// `output_config.format` is understood.
    pub formats: bool,
}

const UNKNOWN: Traits = Traits { thinking: Thinking::Budget, sampling: true, forced_tools: true, formats: false };

impl Traits {
    pub fn of(model: &str) -> Self {
        let Some((family, version)) = version(model) else { return UNKNOWN };
        let always = (family == "opus" && version >= (5, 5)) || (family == "fable" && version >= (5, 0));
        let thinking = match version {
            _ if always => Thinking::Always,
            (5.., _) => Thinking::ByDefault,
            (4, 6..) => Thinking::OnRequest,
            _ => Thinking::Budget,
        };
        Self {
            thinking,
            sampling: version < (4, 7),
            forced_tools: !always && !(family == "sonnet" && version >= (5, 5)),
            formats: version >= (4, 5),
        }
    }
}

/// Family and version of `claude-opus-4-7`, also with a date behind it, a prefix before it, or a point in place of the dash.
fn version(model: &str) -> Option<(&str, (u32, u32))> {
    let name = &model[model.find("claude-")? + "claude-".len()..];
    let mut words = name.split(['-', '.', '@', ':']);
    let family = words.next().filter(|w| w.bytes().all(|b| b.is_ascii_lowercase()))?;
    let major = words.next()?.parse().ok()?;
    // A date has eight digits.
    let minor = words.next().filter(|w| w.len() < 3).and_then(|w| w.parse().ok()).unwrap_or(0);
    Some((family, (major, minor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_the_name() {
        for (model, expected) in [
            ("claude-opus-4-7", Some(("opus", (4, 7)))),
            ("claude-haiku-4-5-20251001", Some(("haiku", (4, 5)))),
            ("claude-sonnet-4-20250514", Some(("sonnet", (4, 0)))),
            ("anthropic/claude-sonnet-5.5", Some(("sonnet", (5, 5)))),
            ("eu.anthropic.claude-opus-5-5-v1:0", Some(("opus", (5, 5)))),
            ("claude-3-5-sonnet-20241022", None),
            ("kimi-k2", None),
            ("claude-", None),
        ] {
            assert_eq!(version(model), expected, "{model}");
        }
    }

    #[test]
    fn what_a_model_accepts() {
        use Thinking::{Always, Budget, ByDefault, OnRequest};
        for (model, thinking, sampling, forced_tools, formats) in [
            ("mock", Budget, true, true, false),
            ("claude-3-5-haiku-latest", Budget, true, true, false),
            ("claude-haiku-4-5", Budget, true, true, true),
            ("claude-sonnet-4-6", OnRequest, true, true, true),
            ("claude-opus-4-8", OnRequest, false, true, true),
            ("claude-sonnet-5", ByDefault, false, true, true),
            ("claude-haiku-5-5", ByDefault, false, true, true),
            ("claude-sonnet-5-5", ByDefault, false, false, true),
            ("claude-opus-5-5", Always, false, false, true),
            ("claude-fable-5-1", Always, false, false, true),
        ] {
            assert_eq!(Traits::of(model), Traits { thinking, sampling, forced_tools, formats }, "{model}");
        }
    }
}
