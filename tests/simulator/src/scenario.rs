//! What happens: sessions, messages, what the model replies, what the user answers. Data, made from a seed.

mod rare;

use fastrand::Rng;
use rtc_engine::Resolution;
use rtc_types::{ApprovalDecision, Mode};

/// A scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// What it was made from.
    pub seed: u64,
    /// The sessions, all at once.
    pub sessions: Vec<SessionPlan>,
    /// The disk is full from this commit on, for so many commits.
    pub full: Option<(u32, u32)>,
    /// Who follows the user's stream.
    pub clients: Vec<ClientPlan>,
    /// Where the sessions work.
    pub folders: Folders,
    /// What the disk of the store does wrong, once.
    pub broken: Option<Broken>,
    /// The clock jumps, once.
    pub jump: Option<Jump>,
    /// The user takes more than a day before the first answer in each session.
    pub thinks: bool,
    /// Who else would run the calls: windows, and another device.
    pub others: bool,
}

/// A jump of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jump {
    /// At the how manyth look at the clock.
    pub at: u64,
    /// By how many seconds: forwards as after a sleep, or back.
    pub seconds: i64,
    /// The timers jump with it: there are systems on which they go on while the machine sleeps. Only forwards.
    pub wakes_late: bool,
}

/// What the disk of the store does wrong. Commits and reads are counted from the beginning, whoever asks for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// A commit fails. Whether it has happened is found out at the next start; until then the store takes nothing more.
    Commit {
        /// Which one.
        at: u32,
        /// Whether it has happened.
        applied: bool,
    },
    /// A read fails.
    Read {
        /// Which one.
        at: u32,
    },
}

/// Where the sessions of a scenario work; each is simpler than the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Folders {
    /// Each in a folder of its own.
    Apart,
    /// All in one, on one file, each for itself.
    Shared,
    /// The same, the others as children of the first.
    Family,
}

/// A client that follows the user's stream.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientPlan {
    /// What happens to its connections is made from it.
    pub seed: u64,
    /// What it has when it is first started.
    pub begins: Begins,
    /// It shows calls that wait for an approval.
    pub approvals: bool,
    /// It answers for the user.
    pub answers: bool,
    /// It sends messages, stops and copies for the user. The first message of a session is the user's own, unless that is a
    /// copy.
    pub acts: bool,
    /// It takes live text in pieces.
    pub pieces: bool,
    /// Its connections break and are slow, and it is reloaded.
    pub troubled: bool,
}

/// What a client has when it is first started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// Nothing, and nothing has happened.
    Empty,
    /// Nothing, and it comes late.
    Late,
    /// The stream of another life of the product.
    Foreign,
}

/// A session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionPlan {
    /// In which mode it begins.
    pub mode: Mode,
    /// What the user says.
    pub messages: Vec<Message>,
    /// The user stops as soon as the session has so many messages, and then says the last of the messages.
    pub stop: Option<u32>,
    /// The user sets these modes one after the other, each as soon as the session has so many messages.
    pub set_modes: Vec<(u32, Mode)>,
    /// The stop is one by closing the session, which is opened again before the next message.
    pub closes: bool,
    /// The user clears the history as soon as the session has so many messages.
    pub clears: Option<u32>,
    /// It begins as soon as the first session has so many messages.
    pub late: u32,
    /// It begins as a copy. Only the last sessions do, never the first one.
    pub copy: Option<CopyPlan>,
}

/// A session that begins as a copy of the first one: the user writes one of its messages anew.
#[derive(Debug, Clone, PartialEq)]
pub struct CopyPlan {
    /// Which message is written anew; what comes before it is copied.
    pub message: usize,
    /// The copy is made as soon as the first session has so many messages, whatever goes on there.
    pub from: u32,
}

/// A message of the user, and what the model makes of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// When it is said.
    pub when: When,
    /// The replies with calls; one without follows.
    pub rounds: Vec<Round>,
    /// The model fails in place of that last reply.
    pub fails: bool,
}

/// When a message is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// As soon as nothing goes on.
    Idle,
    /// As soon as the session has had so many calls, whatever goes on.
    Calls(u32),
}

/// A reply with calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// The model thinks before.
    pub thinks: bool,
    /// How many pieces of text come before the calls.
    pub pieces: u8,
    /// There is time between the pieces, so that live text is spilled.
    pub slow: bool,
    /// The calls.
    pub calls: Vec<Call>,
    /// The reply reaches the token limit in its last call.
    pub cut: bool,
    /// The reply breaks off when it is first asked for, if something of it was shown by then.
    pub breaks: bool,
}

/// A call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// What is called.
    pub tool: Tool,
    /// What the user answers if asked.
    pub decision: ApprovalDecision,
    /// What the user makes of a start whose outcome is unknown.
    pub resolution: Resolution,
    /// It takes long.
    pub slow: bool,
    /// It ends with an error: a change before its effect, a program after it.
    pub fails: bool,
    /// Also a change that fails does so after its effect.
    pub fails_late: bool,
}

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Looks at the session's file.
    Read,
    /// Changes it.
    Write,
    /// Runs a program, of which nobody can tell afterwards whether it ran.
    Script,
    /// Asks the user.
    Ask,
    /// The engine's own list.
    Todo,
    /// A tool that there is not.
    Missing,
    /// Arguments that make no sense.
    Invalid,
}

const DECISIONS: [ApprovalDecision; 5] = [
    ApprovalDecision::Once,
    ApprovalDecision::Session,
    ApprovalDecision::Project,
    ApprovalDecision::Reject,
    ApprovalDecision::Never,
];
const RESOLUTIONS: [Resolution; 3] = [Resolution::Retry, Resolution::Done, Resolution::Tell];
const TOOLS: [Tool; 10] = [
    Tool::Read,
    Tool::Read,
    Tool::Write,
    Tool::Write,
    Tool::Write,
    Tool::Script,
    Tool::Script,
    Tool::Ask,
    Tool::Todo,
    Tool::Missing,
];

/// How much there is at most of what can be there several times.
#[derive(Clone, Copy)]
struct Most {
    messages: usize,
    rounds: usize,
    calls: usize,
}

const SMALL: Most = Most {
    messages: 1,
    rounds: 1,
    calls: 2,
};
const LARGE: Most = Most {
    messages: 3,
    rounds: 2,
    calls: 3,
};

impl Scenario {
    /// The scenario of this seed.
    pub fn of_seed(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        // Small ones find nearly everything, and a scenario takes time by the square of its size.
        let (sessions, most) = match rng.u8(..200) {
            0..192 => (1, SMALL),
            192..198 => (2, SMALL),
            198 => (3, SMALL),
            _ => (rng.usize(1..=2), LARGE),
        };
        let mut scenario = Self {
            seed,
            sessions: (0..sessions)
                .map(|_| SessionPlan::random(&mut rng, most))
                .collect(),
            full: (rng.u8(..8) == 0).then(|| (rng.u32(2..20), rng.u32(1..5))),
            clients: clients(seed),
            folders: match (sessions, seed % 3) {
                (1, _) | (_, 0) => Folders::Apart,
                (_, 1) => Folders::Shared,
                (_, _) => Folders::Family,
            },
            broken: None,
            jump: None,
            thinks: false,
            others: false,
        };
        rare::add(&mut scenario);
        scenario
    }

    /// The folder of a session, by the first session that works in it.
    pub fn folder(&self, session: usize) -> usize {
        match self.folders {
            Folders::Apart if !self.is_copy(session) => session,
            Folders::Apart | Folders::Shared | Folders::Family => 0,
        }
    }

    /// Whether a session is copied.
    pub fn has_copies(&self) -> bool {
        self.sessions.iter().any(|plan| plan.copy.is_some())
    }

    /// Whether a session begins as a copy.
    pub fn is_copy(&self, session: usize) -> bool {
        self.sessions.get(session).is_some_and(|plan| plan.copy.is_some())
    }

    /// Whether the end depends on nothing but what was planned: then every run ends in the same way.
    pub fn is_calm(&self) -> bool {
        // Which of those that share a file reads or writes first is nobody's plan.
        let is_apart = self.folders == Folders::Apart;
        // Where a read fails is another place in each run, and what cannot be read may be all that there is to do.
        let is_read = !matches!(self.broken, Some(Broken::Read { .. }));
        is_apart && is_read && self.sessions.iter().all(SessionPlan::is_calm)
    }

    /// The plan of the call with this id.
    pub fn call(&self, id: &str) -> Option<&Call> {
        let mut numbers = id.split('.').map(|number| number.parse::<usize>().ok());
        let mut next = || numbers.next().flatten();
        let (session, message, round, call) = (next()?, next()?, next()?, next()?);
        let message = self.sessions.get(session)?.messages.get(message)?;
        message.rounds.get(round)?.calls.get(call)
    }
}

/// One scenario in so many has clients: a run with one takes several times as long, for its frames are text.
const WITH_CLIENTS: u8 = 16;

/// Made apart from everything else, which is the same with and without them.
fn clients(seed: u64) -> Vec<ClientPlan> {
    let mut rng = Rng::with_seed(!seed);
    let count = match rng.u8(..WITH_CLIENTS) {
        0 => 1 + usize::from(rng.u8(..4) == 0),
        _ => 0,
    };
    let answers = rng.bool();
    let plan = |number| ClientPlan {
        seed: rng.u64(..),
        begins: [Begins::Empty, Begins::Empty, Begins::Late, Begins::Foreign][rng.usize(..4)],
        // Whoever answers is shown what there is to answer.
        approvals: number == 0 && (answers || rng.bool()),
        answers: answers && number == 0,
        acts: false,
        pieces: rng.bool(),
        troubled: rng.u8(..4) > 0,
    };
    (0..count).map(plan).collect()
}

/// The id of a call, by which everything else finds its plan.
pub(crate) fn call_id(session: usize, message: usize, round: usize, call: usize) -> String {
    format!("{session}.{message}.{round}.{call}")
}

impl SessionPlan {
    fn random(rng: &mut Rng, most: Most) -> Self {
        let stop = (rng.u8(..6) == 0).then(|| rng.u32(1..8));
        // Another one now and then: it may come while the first is worked on.
        let count = rng.usize(1..=most.messages) + usize::from(rng.u8(..10) == 0);
        let mut messages: Vec<_> = (0..count).map(|_| Message::random(rng, most)).collect();
        messages[0].when = When::Idle;
        if stop.is_some() {
            // What was said before a stop is read with what is said after it.
            messages.push(Message {
                when: When::Idle,
                rounds: Vec::new(),
                fails: false,
            });
        }
        Self {
            mode: Mode::ALL[rng.usize(..Mode::ALL.len())],
            messages,
            stop,
            set_modes: (0..[0, 0, 0, 0, 0, 0, 1, 2][rng.usize(..8)])
                .map(|_| (rng.u32(1..6), Mode::ALL[rng.usize(..Mode::ALL.len())]))
                .collect(),
            closes: false,
            clears: None,
            late: 0,
            copy: None,
        }
    }

    fn is_calm(&self) -> bool {
        self.stop.is_none()
            && self.copy.is_none()
            && self.clears.is_none()
            && self.set_modes.is_empty()
            && self.messages.iter().all(|message| message.when == When::Idle)
            // Killed before its end is stored, a change that fails after its effect is found made.
            && !self.calls().any(|call| call.fails_late)
    }

    /// The calls that the model makes.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        let rounds = self.messages.iter().flat_map(|message| &message.rounds);
        rounds.flat_map(|round| &round.calls)
    }
}

impl Message {
    fn random(rng: &mut Rng, most: Most) -> Self {
        let when = match rng.u8(..4) {
            0 => When::Calls(rng.u32(1..3)),
            _ => When::Idle,
        };
        Self {
            when,
            rounds: (0..rng.usize(..=most.rounds))
                .map(|_| Round::random(rng, most))
                .collect(),
            fails: rng.u8(..12) == 0,
        }
    }
}

impl Round {
    fn random(rng: &mut Rng, most: Most) -> Self {
        Self {
            thinks: rng.u8(..4) == 0,
            pieces: rng.u8(..3),
            slow: rng.u8(..6) == 0,
            calls: (0..1 + rng.usize(..most.calls).saturating_sub(rng.usize(..2)))
                .map(|_| Call::random(rng))
                .collect(),
            cut: rng.u8(..16) == 0,
            breaks: rng.u8(..12) == 0,
        }
    }
}

impl Call {
    fn random(rng: &mut Rng) -> Self {
        Self {
            tool: match rng.u8(..30) {
                0 => Tool::Invalid,
                _ => TOOLS[rng.usize(..TOOLS.len())],
            },
            decision: match rng.bool() {
                true => ApprovalDecision::Once,
                false => DECISIONS[rng.usize(..DECISIONS.len())],
            },
            resolution: RESOLUTIONS[rng.usize(..RESOLUTIONS.len())],
            slow: rng.u8(..6) == 0,
            fails: rng.u8(..8) == 0,
            fails_late: false,
        }
    }
}
