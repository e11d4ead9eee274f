//! The world around the product, which does not die with it: the disk, what the model was asked, what the user knows. An
//! image of all of it is taken after each effect of a run that is to be killed.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rtc_model::{AssistantBlock, Item, Request};
use rtc_store::MemoryStore;
use rtc_types::{ApprovalDecision, SessionId};
use tokio::sync::Notify;

use crate::client::Kept;
use crate::points::{Point, Points, Wanted};
use crate::scenario::Jump;

/// Which part of the product is broken on purpose, to see that it is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sabotage {
    /// None.
    #[default]
    None,
    /// A start of a change is said not to have had an effect, whatever is on disk.
    RecoverLies,
    /// A commit is on the device only after the next two effects.
    ForgetsCommits,
    /// A script that was started is said not to have had an effect.
    ScriptsRunAgain,
    /// The executor is never woken again after a start.
    NeverWakes,
    /// Whatever the user answers is taken for a Yes.
    MishearsTheUser,
    /// The model is not sent the result of a call.
    LosesResults,
    /// What the model was sent before is sent otherwise later.
    RewritesThePast,
    /// What is over is written once more, otherwise.
    ReopensWhatIsOver,
    /// A stop does not arrive.
    MissesStops,
    /// The model is not sent what the user said last.
    HidesWhatWasSaid,
    /// A connection leaves out updates.
    SkipsUpdates,
    /// A client takes note of its place in the stream before it keeps what stands there.
    CursorRunsAhead,
    /// A recovery is said to be whole, and its last update is missing.
    RecoversAPart,
    /// Calls that wait for a Yes are shown to clients that ask nobody for one.
    ShowsEverything,
    /// Text is told live of messages that are whole.
    TellsLate,
    /// The files of a folder are changed by everybody at once.
    TakesNoTurns,
    /// A copy that was not acknowledged is made once more after the next start.
    CopiesAgain,
    /// A call of the session that was copied is made in the copy, too.
    CopiesRunCalls,
    /// The model is not sent the reply with which the first turn ended that was copied.
    CopiesAPart,
    /// A commit that failed is taken for one that was made.
    TakesFailedForDone,
    /// What could not be read is taken for what is not there.
    TakesUnreadForNothing,
    /// A history is not cleared.
    ForgetsToClear,
    /// What waits for the user is given up after a day.
    GivesUp,
    /// Whoever is refused a call runs it nevertheless.
    RunsUnclaimed,
    /// A client that sends something again gives it another id.
    SendsAnew,
    /// What goes on for more than an hour by the wall clock is given up.
    EndsByTheWallClock,
    /// A close is only taken note of: what goes on is not stopped.
    ClosesWithoutAStop,
    /// A session that begins late changes files without waiting for its turn.
    LateTakeNoTurns,
    /// A change that has failed is made once more.
    FailedRunAgain,
    /// Of a change that has failed it is said that nothing was changed.
    DeniesEffects,
}

/// What is the case outside of the product. An image of it is a clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    /// The disk: path and content.
    pub(crate) files: BTreeMap<String, String>,
    /// The effects of calls, in order, by the call's id.
    pub(crate) applied: Vec<Arc<str>>,
    /// What the model was sent, in order.
    pub(crate) asked: Vec<Arc<Asked>>,
    /// What the user knows of each session.
    pub(crate) users: Vec<Known>,
    /// How often the user had a call started again.
    pub(crate) retried: Vec<Arc<str>>,
    /// What the user said to calls, noted before the product hears of it.
    pub(crate) answered: Vec<(Arc<str>, ApprovalDecision)>,
    /// How often the product was started.
    pub(crate) lives: u32,
    /// What each client keeps.
    pub(crate) clients: Vec<Kept>,
    /// How many commits were asked for.
    pub(crate) commits: u32,
    /// How many reads were asked for, where one fails.
    pub(crate) reads: u32,
    /// The disk of the store has failed.
    pub(crate) has_failed: bool,
    pub(crate) ticks: u64,
}

/// What the user knows of a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    /// Its id, once there is one; of a copy that is made by the program.
    pub(crate) id: Option<SessionId>,
    /// How many messages were acknowledged.
    pub(crate) said: usize,
    /// After how many messages the user stopped.
    pub(crate) stopped: Option<usize>,
    /// How many of the modes were set.
    pub(crate) modes_set: usize,
    /// When the history was cleared: after how many messages, and how many of them the model had read by then.
    pub(crate) cleared: Option<(usize, usize)>,
    /// Whether the user has thought before an answer.
    pub(crate) has_thought: bool,
}

/// What the model was sent.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) session: usize,
    /// Of each item: what it says.
    pub(crate) items: Vec<u64>,
    /// The same without what a script is said to have done.
    pub(crate) comparable: Vec<u64>,
    /// The user's words in it.
    pub(crate) said: Vec<String>,
    /// Everything but the items.
    pub(crate) context: u64,
    /// The items themselves, where a session is copied.
    pub(crate) whole: Vec<Item>,
}

impl Asked {
    /// The number of the first message of the user in it.
    pub(crate) fn first_said(&self) -> Option<usize> {
        self.said.first().and_then(|words| number_of(words))
    }

    /// The number of the last one.
    pub(crate) fn last_said(&self) -> Option<usize> {
        self.said.last().and_then(|words| number_of(words))
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.session, self.context, &self.items) == (other.session, other.context, &other.items)
    }
}

/// The same but for what may differ between a run that was killed and one that was not.
impl PartialEq for Asked {
    fn eq(&self, other: &Self) -> bool {
        (self.session, &self.comparable, &self.said) == (other.session, &other.comparable, &other.said)
    }
}

pub(crate) struct World {
    inner: Mutex<Inner>,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) sabotage: Sabotage,
    /// How its clock jumps.
    pub(crate) jump: Option<Jump>,
    /// The clock has jumped, and the timers have not yet.
    jumped: Notify,
    /// So have the timers.
    has_slept: AtomicBool,
}

struct Inner {
    facts: Facts,
    points: Points,
    /// The store at the effects before, the oldest first, for a store that forgets.
    before: VecDeque<MemoryStore>,
    /// The files that are being changed.
    changing: Vec<String>,
    /// What must never be and was seen.
    wrong: Option<String>,
}

impl World {
    pub(crate) fn new(
        facts: Facts,
        store: Arc<MemoryStore>,
        jump: Option<Jump>,
        wanted: Wanted,
        sabotage: Sabotage,
    ) -> Self {
        Self {
            inner: Mutex::new(Inner {
                facts,
                points: Points::new(wanted),
                before: VecDeque::new(),
                changing: Vec::new(),
                wrong: None,
            }),
            store,
            sabotage,
            jump,
            jumped: Notify::new(),
            has_slept: AtomicBool::new(false),
        }
    }

    /// When the machine wakes from its sleep, all timers that have run out meanwhile are told so.
    pub(crate) async fn wakes_late(&self) {
        self.jumped.notified().await;
        self.has_slept.store(true, Ordering::Relaxed);
        let slept = self.jump.map_or(0, |jump| jump.seconds.unsigned_abs());
        tokio::time::advance(Duration::from_secs(slept)).await;
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the facts, or changes what is no effect.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut Facts) -> T) -> T {
        look(&mut self.inner().facts)
    }

    /// An effect: from here on the product can be found killed after it.
    pub(crate) fn effect(&self, what: impl FnOnce() -> String, change: impl FnOnce(&mut Facts)) {
        let inner = &mut *self.inner();
        change(&mut inner.facts);
        if !inner.points.are_wanted() {
            return;
        }
        let after = what();
        // What is not flushed may be there or not.
        for (kept, note) in [(0, ""), (usize::MAX, ", nothing lost")] {
            if kept == 0 || self.store.unflushed() > 0 {
                if self.sabotage == Sabotage::ForgetsCommits {
                    inner.before.push_back(self.store.image(kept));
                    if inner.before.len() > 3 {
                        inner.before.pop_front();
                    }
                }
                let Some(place) = inner.points.next() else {
                    continue;
                };
                let store = match inner.before.front() {
                    Some(before) => before.image(kept),
                    None => self.store.image(kept),
                };
                let point = Point {
                    after: format!("{after}{note}"),
                    facts: inner.facts.clone(),
                    store,
                };
                inner.points.take(place, point);
            }
        }
    }

    /// From here on a file is being changed, by one at a time.
    pub(crate) fn begin_change(&self, path: &str) {
        let mut inner = self.inner();
        if inner.changing.iter().any(|other| other == path) {
            inner
                .wrong
                .get_or_insert_with(|| format!("two change {path} at a time"));
        }
        inner.changing.push(path.to_owned());
    }

    pub(crate) fn end_change(&self, path: &str) {
        let mut inner = self.inner();
        if let Some(at) = inner.changing.iter().position(|other| other == path) {
            inner.changing.remove(at);
        }
    }

    /// Something that must never be. The first one counts.
    pub(crate) fn wrong(&self, what: String) {
        self.inner().wrong.get_or_insert(what);
    }

    pub(crate) fn seen_wrong(&self) -> Option<String> {
        self.inner().wrong.clone()
    }

    pub(crate) fn take_points(&self) -> Vec<Point> {
        self.inner().points.taken()
    }

    /// Whether the timers have jumped: what waits for another machine has waited for too long by then.
    pub(crate) fn has_slept(&self) -> bool {
        self.has_slept.load(Ordering::Relaxed)
    }

    pub(crate) fn tick(&self) -> u64 {
        let tick = self.with(|facts| {
            facts.ticks += 1;
            facts.ticks
        });
        if self.jump.is_some_and(|jump| jump.wakes_late && jump.at == tick) {
            self.jumped.notify_one();
        }
        tick
    }

    /// The session of this number, once the user knows it.
    pub(crate) fn session_id(&self, session: usize) -> Option<SessionId> {
        self.with(|facts| facts.users.get(session)?.id)
    }

    /// A request has reached the model. Whether the very same one did before. Its items are kept where that is wanted.
    pub(crate) fn asked(&self, session: usize, request: &Request, keeps: bool) -> bool {
        if let Err(why) = paired(&request.items) {
            self.wrong(format!("a request of session {session}: {why}"));
        }
        let asked = Arc::new(Asked {
            session,
            items: request.items.iter().map(|item| digest(item, false)).collect(),
            comparable: request.items.iter().map(|item| digest(item, true)).collect(),
            context: {
                let mut hasher = DefaultHasher::new();
                let tools: Vec<_> = request.tools.iter().map(|tool| &tool.name).collect();
                (&request.system, tools, request.max_output_tokens).hash(&mut hasher);
                hasher.finish()
            },
            said: request
                .items
                .iter()
                .filter_map(|item| match item {
                    Item::User { text } => Some(text.clone()),
                    _ => None,
                })
                .collect(),
            whole: if keeps { request.items.clone() } else { Vec::new() },
        });
        let before = self.with(|facts| facts.asked.iter().any(|before| before.is_same(&asked)));
        let stopped = self.with(|facts| facts.users[session].stopped);
        if let (Some(stopped), Some(last)) = (stopped, asked.last_said())
            && last < stopped
        {
            self.wrong(format!("session {session} was stopped, and the model is asked"));
        }
        let cleared = self.with(|facts| facts.users[session].cleared);
        if let Some((said, read)) = cleared
            && let (Some(first), Some(last)) = (asked.first_said(), asked.last_said())
            && last >= said
            && first < read
        {
            self.wrong(format!(
                "the history of session {session} was cleared, and the model reads message {first}"
            ));
        }
        self.effect(
            || format!("request {} of session {session}", asked.items.len()),
            |facts| facts.asked.push(asked.clone()),
        );
        before
    }
}

/// Which message of its session these words are.
fn number_of(words: &str) -> Option<usize> {
    words.split_once('.')?.1.parse().ok()
}

/// Each call is followed by exactly one result with its id, before anything else.
fn paired(items: &[Item]) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for item in items {
        match item {
            Item::ToolResult { call_id, .. } => match open.iter().position(|id| id == call_id) {
                Some(at) => _ = open.remove(at),
                None => return Err(format!("a result for {call_id}, which has one or was not called")),
            },
            _ if !open.is_empty() => return Err(format!("no result for {open:?}")),
            Item::Assistant { blocks } => open.extend(blocks.iter().filter_map(|block| match block {
                AssistantBlock::ToolCall { id, .. } => Some(id.as_str()),
                _ => None,
            })),
            Item::User { .. } => {}
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(format!("no result for {open:?}"))
    }
}

fn digest(item: &Item, is_comparable: bool) -> u64 {
    let mut hasher = DefaultHasher::new();
    match item {
        Item::User { text } => ("user", text).hash(&mut hasher),
        Item::Assistant { blocks } => {
            for block in blocks {
                match block {
                    AssistantBlock::Thinking { text } => ("thinking", text).hash(&mut hasher),
                    AssistantBlock::Text { text } => ("text", text).hash(&mut hasher),
                    AssistantBlock::ToolCall { id, name, arguments } => {
                        ("call", id, name, arguments).hash(&mut hasher);
                    }
                    AssistantBlock::Provider { value } => ("provider", value.to_string()).hash(&mut hasher),
                }
            }
        }
        Item::ToolResult {
            call_id,
            tool_name,
            text,
            is_error,
        } => {
            if is_comparable && is_script_output(tool_name, text) {
                ("script", call_id).hash(&mut hasher);
            } else {
                ("result", call_id, tool_name, text, is_error).hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}

/// What a script that was started came to, or that this is not known: it depends on when the product was killed.
pub(crate) fn is_script_output(tool: &str, text: &str) -> bool {
    tool == "script"
        && (text.contains("ran ")
            || text.contains("the call was started and the program ended before its result was known")
            || text.contains("The user looked and says that this call is done"))
}
