//! Goes through a plan with the results so far, up to the calls that have to be made next.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Value, json};

use crate::ToolSpec;

use super::history::{self, CallLog, Failure, FailureKind, Outcome};
use super::plan::{Language, Plan, Step};
use super::report::Report;

mod change;
mod look;
mod target;

/// The most calls in one reply.
const MAX_CALLS: usize = 16;

/// A call that has to be made.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    /// The tool.
    pub(super) tool: &'static str,
    /// Its arguments.
    pub(super) arguments: Value,
}

/// Where a plan stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Standing {
    /// These calls come next.
    Calls(Vec<Call>),
    /// All is done; this is how the steps ended.
    Done(Vec<Report>),
}

/// Goes through the plan.
pub(super) fn run(plan: &Plan, log: &CallLog, tools: &[ToolSpec]) -> Standing {
    let mut run = Run {
        log,
        tools,
        language: plan.language,
        made: HashMap::new(),
        pending: Vec::new(),
        known: BTreeSet::new(),
        broken: BTreeSet::new(),
        meant: BTreeMap::new(),
    };
    let mut reports = Vec::new();
    for step in &plan.steps {
        // While reads are on their way only further reads may join them; a step with an effect waits for its turn.
        if !run.pending.is_empty() && (!step.reads_only() || run.full()) {
            break;
        }
        match run.step(step) {
            Ok(ended) => reports.extend(ended),
            Err(Halt::Waiting) if step.reads_only() => {}
            Err(Halt::Waiting) => break,
            Err(Halt::Stop(report)) => reports.push(*report),
            Err(Halt::Failed(failure)) => reports.push(Report::Failed {
                step: step.clone(),
                failure,
            }),
            Err(Halt::NotOffered(tool)) => reports.push(Report::NotOffered {
                step: step.clone(),
                tool,
            }),
        }
    }
    if run.pending.is_empty() {
        Standing::Done(reports)
    } else {
        Standing::Calls(run.pending)
    }
}

/// Why a step does not go on for now, or at all.
enum Halt {
    /// A call has to be made first.
    Waiting,
    /// A call failed.
    Failed(Failure),
    /// A tool is not offered.
    NotOffered(&'static str),
    /// The step ends with this report.
    Stop(Box<Report>),
}

impl Halt {
    fn stop(report: Report) -> Halt {
        Halt::Stop(Box::new(report))
    }
}

/// One passage through a plan.
struct Run<'r> {
    log: &'r CallLog,
    tools: &'r [ToolSpec],
    language: Language,
    /// How often each call was made in this passage.
    made: HashMap<String, usize>,
    pending: Vec<Call>,
    /// Files whose content this request has read or written.
    known: BTreeSet<String>,
    /// Files on which a change failed.
    broken: BTreeSet<String>,
    /// What names of the user stand for.
    meant: BTreeMap<String, Vec<target::Target>>,
}

impl Run<'_> {
    /// The result of a call, if it was made; else the call is put among those to be made.
    fn call(&mut self, tool: &'static str, arguments: Value) -> Result<String, Halt> {
        if !self.tools.iter().any(|offered| offered.name == tool) {
            return Err(Halt::NotOffered(tool));
        }
        let key = history::key(tool, &arguments);
        let index = self.made.entry(key.clone()).or_default();
        let outcome = self.log.outcome(&key, *index);
        *index += 1;
        match outcome {
            Some(Outcome::Done(text)) => Ok(text.clone()),
            Some(Outcome::Failed(failure)) => Err(Halt::Failed(failure.clone())),
            None => {
                if !self.full() {
                    self.pending.push(Call { tool, arguments });
                }
                Err(Halt::Waiting)
            }
        }
    }

    fn full(&self) -> bool {
        self.pending.len() >= MAX_CALLS
    }

    /// Does the same for each item, side by side: it only waits when all have gone as far as they can.
    fn each<I, T>(
        &mut self,
        items: impl IntoIterator<Item = I>,
        mut work: impl FnMut(&mut Self, I) -> Result<T, Halt>,
    ) -> Result<Vec<Result<T, Halt>>, Halt> {
        let mut waiting = false;
        let mut ended = Vec::new();
        for item in items {
            match work(self, item) {
                Err(Halt::Waiting) => {
                    waiting = true;
                    if self.full() {
                        break;
                    }
                }
                other => ended.push(other),
            }
        }
        if waiting { Err(Halt::Waiting) } else { Ok(ended) }
    }

    fn step(&mut self, step: &Step) -> Result<Vec<Report>, Halt> {
        match step {
            Step::List(place) => self.list(place, step),
            Step::Read(place, window) => self.read(place, *window, step),
            Step::Find {
                pattern,
                folder,
                count,
            } => self.find_step(pattern, folder.as_deref(), *count),
            Step::Look(word) => self.look(word),
            Step::Search {
                needle,
                place,
                files_only,
            } => self.search(needle, place, *files_only),
            Step::Count(needle, place) => self.count(needle, place),
            Step::Replace { from, to, place } => self.replace(from, to, place),
            Step::DeleteLines(lines, place) => self.delete_lines(lines, place),
            Step::Write {
                name,
                content,
                overwrite,
            } => self.write(name, content, *overwrite),
            Step::Append { name, line } => self.append(name, line),
            Step::Script(code) => self.script(json!({ "title": "Script of the user", "code": code })),
            Step::SavedScript(name) => {
                self.script(json!({ "title": "A saved script", "action": "run", "name": name }))
            }
            Step::Unable(wish) => Ok(vec![Report::Unable(*wish)]),
            Step::Help => Ok(vec![Report::Help]),
        }
    }
}

/// JSON arguments without the fields that are absent.
fn arguments<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let fields = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(fields.collect())
}

/// A failure that tells that an earlier step on the file failed.
fn skipped() -> Failure {
    Failure {
        kind: FailureKind::Skipped,
        reason: String::new(),
    }
}

/// Whether a change failed only because the file's present content was not known.
fn wants_a_read(failure: &Failure) -> bool {
    let reason = failure.reason.to_lowercase();
    failure.kind == FailureKind::Error
        && [
            "changed since",
            "not read yet",
            "not been read",
            "only partly read",
        ]
        .iter()
        .any(|sign| reason.contains(sign))
}

fn path_argument(path: &str) -> Value {
    json!({ "path": path })
}
