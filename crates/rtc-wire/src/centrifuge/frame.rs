//! From a frame's text to its objects, and back.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Command, Reply};

/// The largest frame that is read, in bytes. Larger content is sent in pieces.
pub const FRAME_BYTES: usize = 4 << 20;

/// How many commands one frame may have.
pub const COMMANDS_PER_FRAME: usize = 1024;

/// How deep arrays and objects of a command may be nested.
pub const NESTING: usize = 64;

/// Why a frame is none. Whoever sent it does not keep the protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// It is too large.
    #[error("a frame of {0} bytes; {FRAME_BYTES} are allowed")]
    TooLarge(usize),
    /// It has too many commands.
    #[error("a frame of more than {COMMANDS_PER_FRAME} commands")]
    TooMany,
    /// A line is nested too deeply.
    #[error("line {line} is nested more than {NESTING} deep")]
    TooDeep {
        /// Counted from 1.
        line: usize,
    },
    /// A line is not JSON, or not an object of this protocol.
    #[error("line {line}: {reason}")]
    Malformed {
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

/// The commands of a client's frame. Empty lines are skipped.
pub fn decode(frame: &str) -> Result<Vec<Command>, FrameError> {
    if frame.len() > FRAME_BYTES {
        return Err(FrameError::TooLarge(frame.len()));
    }
    objects(frame, COMMANDS_PER_FRAME, NESTING)
}

/// The replies of a server's frame, which may be of any size: who asks for something has to take the answer. Only
/// serde_json's own limit of 128 levels holds.
pub fn decode_replies(frame: &str) -> Result<Vec<Reply>, FrameError> {
    objects(frame, usize::MAX, usize::MAX)
}

/// The frame of some replies.
pub fn encode(replies: &[Reply]) -> String {
    lines(replies)
}

/// The frame of some commands.
pub fn encode_commands(commands: &[Command]) -> String {
    lines(commands)
}

fn objects<T: DeserializeOwned>(frame: &str, most: usize, deepest: usize) -> Result<Vec<T>, FrameError> {
    let mut objects = Vec::new();
    for (text, line) in frame.split('\n').zip(1..) {
        if text.trim_ascii().is_empty() {
            continue;
        }
        if objects.len() == most {
            return Err(FrameError::TooMany);
        }
        if deepest != usize::MAX && nesting(text) > deepest {
            return Err(FrameError::TooDeep { line });
        }
        let object = serde_json::from_str(text).map_err(|error| FrameError::Malformed {
            line,
            reason: error.to_string(),
        })?;
        objects.push(object);
    }
    Ok(objects)
}

fn lines<T: Serialize>(objects: &[T]) -> String {
    let mut frame = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            frame.push(b'\n');
        }
        serde_json::to_writer(&mut frame, object).expect("frames have text keys and go to memory");
    }
    String::from_utf8(frame).expect("JSON is text")
}

/// How deep brackets outside of strings are nested. Says nothing about whether they match.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
