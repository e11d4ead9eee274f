//! Texts with words to be filled in: `<colour>` stands for any word.
//!
//! `<Colour>` and `<COLOUR>` are the same word written so, and `<~colour>` is a glob that matches it in upper and lower
//! case. A key of other characters, such as `<colou?r>` or `<3>`, is one of its own.

/// Fills a template: `word` gives the word for a key, which is lower-case if it is a word.
pub(crate) fn fill(template: &str, word: impl Fn(&str) -> String) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('<') {
        let (key, after) = after.split_once('>').expect("a template closes its brackets");
        filled.push_str(before);
        match key.strip_prefix('~') {
            Some(key) => filled.push_str(&any_case(&word(key))),
            None => filled.push_str(&as_written(key, word(&key.to_lowercase()))),
        }
        rest = after;
    }
    filled + rest
}

fn as_written(key: &str, word: String) -> String {
    let upper = |character: char| character.is_uppercase();
    if key
        .chars()
        .filter(|character| character.is_alphabetic())
        .all(upper)
        && key.chars().any(upper)
    {
        word.to_uppercase()
    } else if key.starts_with(upper) {
        let mut characters = word.chars();
        characters
            .next()
            .map(|first| first.to_uppercase().chain(characters).collect())
            .unwrap_or_default()
    } else {
        word
    }
}

fn any_case(word: &str) -> String {
    word.chars()
        .map(|character| match character.is_ascii_alphabetic() {
            true => format!(
                "[{}{}]",
                character.to_ascii_lowercase(),
                character.to_ascii_uppercase()
            ),
            false => character.to_string(),
        })
        .collect()
}
