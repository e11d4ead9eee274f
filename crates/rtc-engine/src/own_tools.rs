//! The engine's own tools: no remote tool call, they change the session inside its lane.

use rtc_tool::{Access, CallContext, Kind, Prepared, ProgressSender, Subject, Tool, ToolError};
use rtc_types::{TodoItem, TodoStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many steps a list may have.
const MOST_STEPS: usize = 100;

/// `todoWrite`: replaces the session's list of steps.
#[derive(Debug)]
pub struct TodoWrite;

/// Arguments of `todoWrite`.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TodoArgs {
    /// The whole list, in order.
    pub todos: Vec<Todo>,
}

/// One step.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Todo {
    /// What is to be done, imperative: "Fix the test".
    pub content: String,
    /// How far it is.
    pub status: Status,
    /// The same while it is done: "Fixing the test".
    pub active_form: String,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun.
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
}

impl From<TodoArgs> for Vec<TodoItem> {
    fn from(args: TodoArgs) -> Self {
        let status = |status| match status {
            Status::Pending => TodoStatus::Pending,
            Status::InProgress => TodoStatus::InProgress,
            Status::Completed => TodoStatus::Completed,
        };
        args.todos
            .into_iter()
            .map(|todo| TodoItem {
                content: todo.content,
                status: status(todo.status),
                active_form: todo.active_form,
            })
            .collect()
    }
}

impl Tool for TodoWrite {
    type Args = TodoArgs;
    type Output = String;

    fn name(&self) -> &str {
        "todoWrite"
    }

    fn kind(&self) -> Kind {
        Kind::Engine
    }

    fn description(&self) -> String {
        "Replaces your list of steps, which the user sees. Use it for work of three or more steps: one step in \
         progress at a time, marked completed as soon as it is."
            .to_owned()
    }

    fn subject(&self, args: &TodoArgs) -> Result<Subject, ToolError> {
        if args.todos.len() > MOST_STEPS {
            return Err(ToolError::invalid(format!(
                "`todos` has {} steps; at most {MOST_STEPS}",
                args.todos.len()
            )));
        }
        Ok(Subject {
            access: Access::Read,
            paths: Vec::new(),
            digest: None,
        })
    }

    async fn execute(
        &self,
        _context: CallContext,
        args: TodoArgs,
        _prepared: Option<Prepared>,
        _progress: ProgressSender,
    ) -> Result<String, ToolError> {
        Ok(noted(args.todos.len()))
    }
}

/// What the model reads.
pub(crate) fn noted(steps: usize) -> String {
    format!("The list has {steps} steps now.")
}
