//! Tests: a recorded body through a decoder, cut everywhere.

use futures::{FutureExt, StreamExt, stream};

use crate::exchange::Decoder;
use crate::failure::Failure;
use crate::{AssistantBlock, Error, Event, Reply, sse};

/// What came of a body.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) text: String,
    pub(crate) thinking: String,
    pub(crate) end: Result<Reply, Failure>,
    /// Whether the end came of an event, and not of there being no more.
    pub(crate) is_told: bool,
}

/// Runs a body that arrives in these pieces. After `reset`, the connection breaks off.
pub(crate) fn run(mut decoder: Box<dyn Decoder>, pieces: &[&[u8]], reset: bool) -> Outcome {
    let broken = reset.then(|| {
        Err(Error::Stream {
            reason: "reset".into(),
        }
        .into())
    });
    let pieces: Vec<_> = pieces
        .iter()
        .map(|piece| Ok(piece.to_vec()))
        .chain(broken)
        .collect();
    let all: Vec<_> = sse::events(stream::iter(pieces).boxed())
        .collect()
        .now_or_never()
        .expect("nothing waits");
    let (mut text, mut thinking, mut called) = (String::new(), String::new(), Vec::new());
    let (mut end, mut is_told) = (None, false);
    for data in all.into_iter().map(Some).chain([None]) {
        let complete = decoder.is_complete();
        is_told = matches!(data, Some(Ok(_)));
        let fed = match data {
            Some(Ok(data)) => decoder.feed(&data),
            Some(Err(failure)) if !complete => Err(failure),
            Some(Err(_)) | None => decoder.end(),
        };
        for event in fed.as_ref().unwrap_or(&Vec::new()) {
            assert_eq!(end, None, "nothing comes after Done");
            match event {
                Event::Text { delta } => text.push_str(delta),
                Event::Thinking { delta } => thinking.push_str(delta),
                Event::Calling { tool } => called.push(tool.clone()),
                Event::Done(reply) => end = Some(Ok(reply.clone())),
            }
        }
        end = end.or(fed.err().map(Err));
        if end.is_some() {
            break;
        }
    }
    let end = end.expect("a reply ends");
    if let Ok(reply) = &end {
        assert_eq!(text, reply.text(), "the deltas are the text");
        let thoughts = reply.blocks.iter().filter_map(|block| match block {
            AssistantBlock::Thinking { text } => Some(text.as_str()),
            _ => None,
        });
        let names = reply.blocks.iter().filter_map(|block| match block {
            AssistantBlock::ToolCall { name, .. } => Some(name.clone()),
            _ => None,
        });
        let mut named: Vec<String> = names.collect();
        // A cut call is last, wherever it began; and a name may come late.
        named.sort();
        called.sort();
        assert!(
            called.iter().all(|name| named.contains(name)),
            "{called:?} begin, of {named:?}"
        );
        assert_eq!(
            thinking,
            thoughts.collect::<String>(),
            "the deltas are the thought"
        );
    }
    Outcome {
        text,
        thinking,
        end,
        is_told,
    }
}

/// The outcome of a body, which is the same wherever it is cut.
pub(crate) fn outcome(decoder: impl Fn() -> Box<dyn Decoder>, body: &str) -> Outcome {
    let bytes = body.as_bytes();
    let whole = run(decoder(), &[bytes], false);
    for at in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(at);
        assert_eq!(
            run(decoder(), &[head, tail], false),
            whole,
            "cut at {at} of {body:?}"
        );
    }
    // A server that says that this was all may keep the connection open.
    let has_mark = ["[DONE]", r#""type":"message_stop""#]
        .iter()
        .any(|mark| body.contains(mark));
    if has_mark && whole.end.is_ok() {
        assert!(whole.is_told, "it waits for more than {body:?}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(run(decoder(), &single, false), whole, "byte by byte: {body:?}");
    // Broken off anywhere before its end, a reply is an error or, if only its cost is missing, what it would have been.
    for at in 0..bytes.len() {
        let broken = run(decoder(), &[&bytes[..at]], true);
        match (&broken.end, &whole.end) {
            (Ok(reply), Ok(all)) => {
                assert_eq!((&reply.blocks, &reply.stop), (&all.blocks, &all.stop), "{body:?}")
            }
            (Ok(reply), Err(_)) => panic!("half of a failure is a reply: {reply:?}"),
            (Err(_), _) => {}
        }
    }
    whole
}

/// One line for each block, then the end.
pub(crate) fn told(outcome: &Outcome) -> String {
    match &outcome.end {
        Ok(reply) => {
            let mut lines: Vec<String> = reply
                .blocks
                .iter()
                .map(|block| match block {
                    AssistantBlock::Thinking { text } => format!("  thinking {text:?}"),
                    AssistantBlock::Text { text } => format!("  text {text:?}"),
                    AssistantBlock::ToolCall { id, name, arguments } => {
                        format!("  call {id} {name}({arguments})")
                    }
                    AssistantBlock::Provider { value } => format!("  provider {value}"),
                })
                .collect();
            let usage = reply.usage;
            let numbers = [
                usage.input,
                usage.output,
                usage.cached_read,
                usage.cached_write,
                usage.reasoning,
            ];
            lines.push(format!("  {:?} {numbers:?}", reply.stop));
            lines.join("\n")
        }
        Err(failure) => {
            let again = if failure.again { ", may be asked again" } else { "" };
            format!(
                "  after {:?} {:?}: {}{again}",
                outcome.thinking, outcome.text, failure.error
            )
        }
    }
}
