//! Thoughts that stand in the answer between `<think>` and `</think>`, as models write them whose server does not
//! tell thought from text.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// A piece of a thought or of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Thinking(String),
    Text(String),
}

/// Tells thought from text. Only a tag at the very beginning opens a thought: further on, an answer may speak of tags.
#[derive(Debug, Default)]
pub(super) struct Think {
    at: At,
    /// What cannot be told yet.
    held: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum At {
    #[default]
    Start,
    /// Within the tags, before the first word of the thought.
    ThoughtStart,
    Thought,
    /// Behind the tags, before the first word of the answer.
    TextStart,
    Text,
}

impl Think {
    /// Takes the next piece of the answer.
    pub(super) fn push(&mut self, piece: &str) -> Vec<Piece> {
        self.held.push_str(piece);
        let mut out = Vec::new();
        while self.step(&mut out) {}
        out
    }

    /// The answer is over: what was held back, if it says anything.
    pub(super) fn end(&mut self) -> Option<Piece> {
        let held = std::mem::take(&mut self.held);
        if held.trim().is_empty() {
            return None;
        }
        Some(match self.at {
            At::ThoughtStart | At::Thought => Piece::Thinking(held),
            At::Start | At::TextStart | At::Text => Piece::Text(held),
        })
    }

    /// Whether there may be more to tell of what is held.
    fn step(&mut self, out: &mut Vec<Piece>) -> bool {
        let begun = self.held.trim_start();
        match self.at {
            At::Start => {
                if let Some(rest) = begun.strip_prefix(OPEN) {
                    self.held = rest.to_owned();
                    self.at = At::ThoughtStart;
                    return true;
                }
                // It may still become the tag, or stay nothing but white space.
                if OPEN.starts_with(begun) {
                    return false;
                }
                self.at = At::Text;
                true
            }
            At::ThoughtStart | At::TextStart => {
                if begun.is_empty() {
                    return false;
                }
                self.held = begun.to_owned();
                self.at = if self.at == At::ThoughtStart {
                    At::Thought
                } else {
                    At::Text
                };
                true
            }
            At::Thought => {
                let (thought, rest) = match self.held.split_once(CLOSE) {
                    Some((thought, rest)) => {
                        self.at = At::TextStart;
                        (thought.to_owned(), rest.to_owned())
                    }
                    None => {
                        let tail = (0..CLOSE.len())
                            .rev()
                            .find(|length| self.held.ends_with(&CLOSE[..*length]));
                        let (thought, rest) = self.held.split_at(self.held.len() - tail.unwrap_or(0));
                        (thought.to_owned(), rest.to_owned())
                    }
                };
                self.held = rest;
                if !thought.is_empty() {
                    out.push(Piece::Thinking(thought));
                }
                self.at == At::TextStart
            }
            At::Text => {
                if !self.held.is_empty() {
                    out.push(Piece::Text(std::mem::take(&mut self.held)));
                }
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `k:…` thoughts and `t:…` text, joined.
    fn split(pieces: &[&str]) -> (String, String) {
        let mut think = Think::default();
        let mut told: Vec<Piece> = pieces.iter().flat_map(|piece| think.push(piece)).collect();
        told.extend(think.end());
        let (mut thought, mut text) = (String::new(), String::new());
        for piece in told {
            match piece {
                Piece::Thinking(piece) => thought += &piece,
                Piece::Text(piece) => text += &piece,
            }
        }
        (thought, text)
    }

    #[test]
    fn thoughts_are_told_from_text_wherever_the_pieces_are_cut() {
        let table = [
            ("<think>Hm.</think>\n\nYes.", "Hm.", "Yes."),
            (
                "\n<think>\nHm <b> </thin>\n</think>Yes.",
                "Hm <b> </thin>\n",
                "Yes.",
            ),
            ("<think>\n\n</think>\n\nYes.", "", "Yes."),
            ("<think>for ever é", "for ever é", ""),
            ("<think>cut </thi", "cut </thi", ""),
            ("  Yes <think>no</think>", "", "  Yes <think>no</think>"),
            ("<thi", "", "<thi"),
            ("<thin ice", "", "<thin ice"),
            (" \n ", "", ""),
            ("", "", ""),
            ("é", "", "é"),
        ];
        for (whole, thought, text) in table {
            let expected = (thought.to_owned(), text.to_owned());
            assert_eq!(split(&[whole]), expected, "{whole:?}");
            for (first, _) in whole.char_indices() {
                for (second, _) in whole.char_indices().filter(|(at, _)| *at >= first) {
                    let pieces = [&whole[..first], &whole[first..second], &whole[second..]];
                    assert_eq!(split(&pieces), expected, "{pieces:?}");
                }
            }
        }
    }
}
