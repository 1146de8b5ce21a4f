//! Patterns of config keys: `*` stands for any characters, `?` for one.

/// Returns true if `text` is of the form of `pattern`.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut seen) = (0, 0);
    // Where to go on if the last `*` must take one more character.
    let mut retry: Option<(usize, usize)> = None;
    while seen < text.len() {
        match pattern.get(at) {
            Some('*') => {
                retry = Some((at, seen));
                at += 1;
                continue;
            }
            Some('?') => {}
            Some(c) if text.get(seen) == Some(c) => {}
            _ => {
                let Some((star, from)) = retry else { return false };
                retry = Some((star, from + 1));
                (at, seen) = (star + 1, from + 1);
                continue;
            }
        }
        at += 1;
        seen += 1;
    }
    pattern.iter().skip(at).all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_take_any_characters_and_question_marks_one() {
        for (pattern, text) in [
            ("qwen3.5-fp4-b200-sglang", "qwen3.5-fp4-b200-sglang"),
            ("qwen*-mtp", "qwen3.5-fp4-b200-sglang-mtp"),
            ("*b?00*", "qwen3.5-fp4-b300-trt"),
            ("*", ""),
            ("**", "a"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("qwen", "qwen3"), ("*mtp", "mtp-not"), ("?", ""), ("a*b*c", "acb")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
        let (stars, letters) = ("*a".repeat(1000), "a".repeat(5000) + "b");
        assert!(!matches(&stars, &letters));
    }
}
