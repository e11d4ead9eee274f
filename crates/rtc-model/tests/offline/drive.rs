//! Plays the engine: asks the model, makes its calls, asks again.

use futures::StreamExt;
use rtc_model::{
    AssistantBlock, Error, Event, Item, Model, OfflineModel, Reply, Request, StopReason, ToolSpec,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::folder::{Folder, TOOLS};

/// The most replies of one turn before a test fails.
const MAX_REPLIES: usize = 200;

/// A conversation with the offline model about a folder.
pub(crate) struct Conversation {
    /// The folder.
    pub(crate) folder: Folder,
    /// The request so far.
    pub(crate) request: Request,
    /// The calls so far: tool and arguments.
    pub(crate) calls: Vec<(String, Value)>,
}

impl Conversation {
    /// A new conversation, with all tools.
    pub(crate) fn new(folder: Folder) -> Conversation {
        let tool = |name: &&str| ToolSpec {
            name: (*name).to_owned(),
            description: format!("the tool {name}"),
            input_schema: json!({ "type": "object" }),
        };
        let tools = TOOLS.iter().map(tool).collect();
        let request = Request {
            system: "Be exact.".to_owned(),
            tools,
            items: Vec::new(),
            max_output_tokens: None,
        };
        Conversation {
            folder,
            request,
            calls: Vec::new(),
        }
    }

    /// Takes a tool away.
    pub(crate) fn without(mut self, tool: &str) -> Conversation {
        self.request.tools.retain(|offered| offered.name != tool);
        self
    }

    /// Adds a message of the user.
    pub(crate) fn say(&mut self, text: &str) {
        self.request.items.push(Item::User {
            text: text.to_owned(),
        });
    }

    /// Says something, and plays the turn to its end; gives the final text.
    pub(crate) fn ask(&mut self, text: &str) -> String {
        self.say(text);
        self.finish()
    }

    /// Plays the turn to its end; gives the final text.
    pub(crate) fn finish(&mut self) -> String {
        for _ in 0..MAX_REPLIES {
            let reply = self.reply();
            if reply.stop == StopReason::EndTurn {
                return reply.text();
            }
            self.run(&reply, usize::MAX);
        }
        panic!("the turn does not end: {:?}", self.calls);
    }

    /// Asks for one reply, checks it, and adds it to the conversation.
    pub(crate) fn reply(&mut self) -> Reply {
        let reply = reply(&self.request);
        self.request.items.push(Item::Assistant {
            blocks: reply.blocks.clone(),
        });
        reply
    }

    /// Makes the first `most` calls of a reply.
    pub(crate) fn run(&mut self, reply: &Reply, most: usize) {
        for block in calls(reply).take(most) {
            let AssistantBlock::ToolCall { id, name, arguments } = block else {
                unreachable!()
            };
            let arguments: Value = serde_json::from_str(arguments).expect("arguments are JSON");
            let (text, is_error) = self.folder.call(name, &arguments);
            self.calls.push((name.clone(), arguments));
            let result = Item::ToolResult {
                call_id: id.clone(),
                tool_name: name.clone(),
                text,
                is_error,
            };
            self.request.items.push(result);
        }
    }

    /// The calls so far, as short lines: the tool and what it works on.
    pub(crate) fn short_calls(&self) -> Vec<String> {
        let short = |(tool, arguments): &(String, Value)| {
            let subject = if tool == "askUser" {
                None
            } else {
                arguments.get("pattern").or(arguments.get("path"))
            };
            match subject.and_then(Value::as_str) {
                Some(subject) => format!("{tool} {subject}"),
                None => tool.clone(),
            }
        };
        self.calls.iter().map(short).collect()
    }
}

/// The calls of a reply.
pub(crate) fn calls(reply: &Reply) -> impl Iterator<Item = &AssistantBlock> {
    reply
        .blocks
        .iter()
        .filter(|block| matches!(block, AssistantBlock::ToolCall { .. }))
}

/// Runs a future to its end.
pub(crate) fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime")
        .block_on(work)
}

/// All that a model streams for a request.
pub(crate) fn events(request: &Request, cancel: &CancellationToken) -> Vec<Result<Event, Error>> {
    let model = OfflineModel::new();
    wait(async {
        match model.stream(request, cancel.clone()).await {
            Ok(stream) => stream.collect().await,
            Err(error) => vec![Err(error)],
        }
    })
}

/// The reply to a request, whose stream must keep the grammar: deltas, then exactly one `Done`.
pub(crate) fn reply(request: &Request) -> Reply {
    let events = events(request, &CancellationToken::new());
    let (last, deltas) = events.split_last().expect("a stream is not empty");
    let Ok(Event::Done(reply)) = last else {
        panic!("the stream ends with {last:?}")
    };
    let mut text = String::new();
    for event in deltas {
        match event {
            Ok(Event::Text { delta }) => text.push_str(delta),
            other => panic!("{other:?} before the end"),
        }
    }
    assert_eq!(text, reply.text(), "the deltas are the text");
    let asks = calls(reply).next().is_some();
    assert_eq!(
        reply.stop,
        if asks {
            StopReason::ToolUse
        } else {
            StopReason::EndTurn
        }
    );
    assert!(asks || !text.is_empty(), "an answer has words");
    reply.clone()
}
