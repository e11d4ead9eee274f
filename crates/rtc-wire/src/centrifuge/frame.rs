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

/// How many values the commands of a frame may have in sum: each takes more room in memory than on the wire.
pub const VALUES_PER_FRAME: usize = 1 << 18;

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
    /// Its commands have too many values.
    #[error("a frame of more than {VALUES_PER_FRAME} values")]
    TooManyValues,
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
    let mut values = 0;
    objects(frame, COMMANDS_PER_FRAME, |text, line| {
        let shape = Shape::of(text);
        values += shape.values;
        if shape.depth > NESTING {
            return Err(FrameError::TooDeep { line });
        }
        if values > VALUES_PER_FRAME {
            return Err(FrameError::TooManyValues);
        }
        Ok(())
    })
}

/// The replies of a server's frame, which may be of any size: who asks for something has to take the answer. Only
/// serde_json's own limit of 128 levels holds.
pub fn decode_replies(frame: &str) -> Result<Vec<Reply>, FrameError> {
    objects(frame, usize::MAX, |_, _| Ok(()))
}

/// The frame of some replies.
pub fn encode(replies: &[Reply]) -> String {
    lines(replies)
}

/// The frame of some commands.
pub fn encode_commands(commands: &[Command]) -> String {
    lines(commands)
}

/// One object a line, each looked at before it is read.
fn objects<T: DeserializeOwned>(
    frame: &str,
    most: usize,
    mut look: impl FnMut(&str, usize) -> Result<(), FrameError>,
) -> Result<Vec<T>, FrameError> {
    let mut objects = Vec::new();
    for (text, line) in frame.split('\n').zip(1..) {
        if text.trim_ascii().is_empty() {
            continue;
        }
        if objects.len() == most {
            return Err(FrameError::TooMany);
        }
        look(text, line)?;
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

/// What can be told of a text's brackets and commas outside of strings. Says nothing about whether they match.
struct Shape {
    /// How deep brackets are nested.
    depth: usize,
    /// At least how many values arrays and objects have.
    values: usize,
}

impl Shape {
    fn of(text: &str) -> Self {
        let mut shape = Self { depth: 0, values: 0 };
        let mut depth = 0usize;
        let (mut in_string, mut escaped) = (false, false);
        for byte in text.bytes() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_string => escaped = true,
                b'"' => in_string = !in_string,
                b'{' | b'[' if !in_string => {
                    depth += 1;
                    shape.depth = shape.depth.max(depth);
                    shape.values += 1;
                }
                b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
                b',' if !in_string => shape.values += 1,
                _ => {}
            }
        }
        shape
    }
}
