use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::stream;
use tokio::time::Instant;

use super::*;
use crate::failure::broken;
use crate::{AssistantBlock, Reply as Whole, StopReason, Usage};

/// Each event is a word; `.` completes a reply, `!` ends it, `?` is an error.
#[derive(Default)]
struct Words {
    text: String,
    complete: bool,
}

impl Decoder for Words {
    fn feed(&mut self, data: &str) -> Result<Vec<Event>, Failure> {
        match data {
            "." => self.complete = true,
            "!" => return self.end(),
            "?" => return Err(broken("asked")),
            "-" => {}
            word => {
                self.text.push_str(word);
                return Ok(vec![Event::Text { delta: word.into() }]);
            }
        }
        Ok(Vec::new())
    }

    fn is_complete(&self) -> bool {
        self.complete
    }

    fn end(&mut self) -> Result<Vec<Event>, Failure> {
        let text = self.text.clone();
        Ok(vec![Event::Done(Whole {
            blocks: vec![AssistantBlock::Text { text }],
            stop: StopReason::EndTurn,
            usage: Usage::default(),
        })])
    }
}

/// What one attempt gives: a failure at once, or words; then silence if it `stalls`.
enum Attempt {
    Fails(Failure),
    Gives {
        words: &'static [&'static str],
        stalls: bool,
    },
}

fn gives(words: &'static [&'static str]) -> Attempt {
    Attempt::Gives { words, stalls: false }
}

/// How it went: the deltas and the end, the attempts that were made, the time that passed.
struct Went {
    told: String,
    attempts: usize,
    time: Duration,
}

async fn go(attempts: Vec<Attempt>, cancel_after: Option<Duration>) -> Went {
    let attempts: Mutex<VecDeque<Attempt>> = Mutex::new(attempts.into());
    let made = AtomicUsize::new(0);
    let open = || {
        made.fetch_add(1, Ordering::Relaxed);
        let attempt = attempts
            .lock()
            .unwrap()
            .pop_front()
            .expect("as many attempts as there should be");
        async move {
            let (words, stalls) = match attempt {
                Attempt::Fails(failure) => return Err(failure),
                Attempt::Gives { words, stalls } => (words, stalls),
            };
            let body: Vec<_> = words.iter().map(|word| Ok((*word).to_owned())).collect();
            let body = stream::iter(body);
            Ok(if stalls {
                body.chain(stream::pending()).boxed()
            } else {
                body.boxed()
            })
        }
        .boxed()
    };
    let cancel = CancellationToken::new();
    if let Some(after) = cancel_after {
        let cancel = cancel.clone();
        tokio::spawn(async move {
            sleep(after).await;
            cancel.cancel();
        });
    }
    let begun = Instant::now();
    let mut told = Vec::new();
    match ask(open, || Box::new(Words::default()), cancel).await {
        Err(error) => told.push(error.code().to_owned()),
        Ok(mut stream) => {
            while let Some(event) = stream.next().await {
                told.push(match event {
                    Ok(Event::Text { delta } | Event::Thinking { delta }) => delta,
                    Ok(Event::Calling { tool }) => format!("<{tool}>"),
                    Ok(Event::Done(reply)) => format!("[{}]", reply.text()),
                    Err(error) => error.code().to_owned(),
                });
            }
        }
    }
    Went {
        told: told.join(" "),
        attempts: made.into_inner(),
        time: begun.elapsed(),
    }
}

fn overloaded() -> Attempt {
    Attempt::Fails(Error::Overloaded.into())
}

#[tokio::test(start_paused = true)]
async fn a_request_is_sent_again_only_while_nothing_was_delivered() {
    let waits = |seconds| {
        let mut failure = Failure::from(Error::RateLimited { retry_after: None });
        failure.wait = Some(Duration::from_secs(seconds));
        Attempt::Fails(failure)
    };
    let refused = || Attempt::Fails(Failure::from(Error::Refused { reason: "no".into() }));
    let table = [
        ("at once", vec![gives(&["a", "b", "!"])], "a b [ab]", 1),
        (
            "in the end",
            vec![overloaded(), overloaded(), overloaded(), gives(&["a", "!"])],
            "a [a]",
            4,
        ),
        (
            "never",
            vec![overloaded(), overloaded(), overloaded(), overloaded()],
            "model.overloaded",
            4,
        ),
        (
            "after what was asked for",
            vec![waits(3), gives(&["a", "!"])],
            "a [a]",
            2,
        ),
        ("not for ever", vec![waits(3_600)], "model.rate_limited", 1),
        ("not what stays wrong", vec![refused()], "model.refused", 1),
        (
            "broken before anything",
            vec![gives(&["-", "?"]), gives(&["a", "!"])],
            "a [a]",
            2,
        ),
        (
            "broken after something",
            vec![gives(&["a", "?"])],
            "a model.stream",
            1,
        ),
        ("complete, nothing said", vec![gives(&["!"])], "[]", 1),
        (
            "nothing after the end",
            vec![gives(&["a", "!", "b", "?"])],
            "a [a]",
            1,
        ),
    ];
    for (name, attempts, told, made) in table {
        let went = go(attempts, None).await;
        assert_eq!((went.told.as_str(), went.attempts), (told, made), "{name}");
        if name == "after what was asked for" {
            assert!(went.time >= Duration::from_secs(3), "{name}: {:?}", went.time);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_is_over_when_it_is_complete_though_the_connection_stays() {
    let stalls = |words| Attempt::Gives { words, stalls: true };
    let ended = go(vec![stalls(&["a", "!"])], None).await;
    assert_eq!((ended.told.as_str(), ended.time), ("a [a]", Duration::ZERO));
    let complete = go(vec![stalls(&["a", "."])], None).await;
    assert_eq!((complete.told.as_str(), complete.time), ("a [a]", AFTER_THE_END));
}

#[tokio::test(start_paused = true)]
async fn every_wait_ends_when_it_is_cancelled() {
    let moment = Some(Duration::from_millis(7));
    let long = || {
        let mut failure = Failure::from(Error::Overloaded);
        failure.wait = Some(Duration::from_secs(50));
        Attempt::Fails(failure)
    };
    let stalls = |words| Attempt::Gives { words, stalls: true };
    let table = [
        ("between two attempts", vec![long()], "model.cancelled"),
        ("before the first word", vec![stalls(&[])], "model.cancelled"),
        ("within the reply", vec![stalls(&["a"])], "a model.cancelled"),
        ("before its cost", vec![stalls(&["a", "."])], "a model.cancelled"),
    ];
    for (name, attempts, told) in table {
        let went = go(attempts, moment).await;
        assert_eq!(
            (went.told.as_str(), went.time),
            (told, Duration::from_millis(7)),
            "{name}"
        );
    }
}
