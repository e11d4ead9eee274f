//! What a model answers.

use serde::{Deserialize, Serialize};

use crate::AssistantBlock;

/// One step of a reply in the making. See [`crate::ModelStream`] for the order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The thought goes on.
    Thinking {
        /// The new piece.
        delta: String,
    },
    /// The text goes on.
    Text {
        /// The new piece.
        delta: String,
    },
    /// A call begins. Its arguments are still being written, and it may never be whole.
    Calling {
        /// The tool.
        tool: String,
    },
    /// The reply is complete.
    Done(Reply),
}

/// A complete reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Its parts, in the order in which the model made them.
    pub blocks: Vec<AssistantBlock>,
    /// Why it ends here.
    pub stop: StopReason,
    /// What it cost.
    pub usage: Usage,
}

impl Reply {
    /// The text blocks, joined.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            AssistantBlock::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

/// Why a reply ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model has said what it wanted to say.
    EndTurn,
    /// The model waits for the results of its calls.
    ToolUse,
    /// The token limit cut the reply off: its last block may be incomplete, and a call in it must not run.
    MaxTokens,
    /// A reason that only the provider knows.
    Other(String),
}

/// Tokens that a reply used, as the provider counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request that were read in full.
    pub input: u64,
    /// Tokens of the reply, reasoning included.
    pub output: u64,
    /// Tokens of the request that came from the provider's cache.
    pub cached_read: u64,
    /// Tokens of the request that were stored in the provider's cache.
    pub cached_write: u64,
    /// Those tokens of the reply that were reasoning.
    pub reasoning: u64,
}

impl Usage {
    /// All tokens of request and reply.
    pub const fn total(self) -> u64 {
        self.input
            .saturating_add(self.cached_read)
            .saturating_add(self.cached_write)
            .saturating_add(self.output)
    }
}
