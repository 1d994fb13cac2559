//! What the generations of models differ in, told by their names.

/// `gemini-3-pro-preview` is of the third generation; names without a number, and other families, are of none.
fn generation(model: &str) -> Option<f32> {
    let name = model.rsplit('/').next().unwrap_or(model);
    let rest = name.strip_prefix("gemini-")?;
    rest.split('-').next()?.parse().ok()
}

/// From the third generation on a call has to come back with its signature, results may carry files, and an answer in JSON may be
/// asked for together with tools.
pub fn is_third(model: &str) -> bool {
    generation(model).is_some_and(|n| n >= 3.0)
}

/// It thinks, and tells its thoughts when asked to.
pub fn thinks(model: &str) -> bool {
    let speaks_text = !["image", "tts", "audio", "live", "embedding"].iter().any(|kind| model.contains(kind));
    speaks_text && generation(model).is_some_and(|n| n >= 2.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_generation() {
        let table = [
            ("gemini-3-pro-preview", true, true),
            ("models/gemini-3.1-flash", true, true),
            ("gemini-2.5-flash", false, true),
            ("gemini-2.5-flash-image", false, false),
            ("gemini-2.0-flash", false, false),
            ("gemini-flash-latest", false, false),
            ("gemma-3-27b-it", false, false),
            ("mock", false, false),
        ];
        for (model, third, thinking) in table {
            assert_eq!((is_third(model), thinks(model)), (third, thinking), "{model}");
        }
    }
}
