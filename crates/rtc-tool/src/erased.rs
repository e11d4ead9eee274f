//! The one place where a typed tool becomes a handle.

use std::sync::Arc;

use async_trait::async_trait;
use futures::stream;
use rtc_types::Preview;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::checked::Checked;
use crate::{
    CallContext, Capabilities, Description, Kind, Prepared, Progress, ProgressSender, Recovery, Subject,
    Tool, ToolError, ToolHandle, ToolStream, ToolStreamItem, coerce,
};

/// Makes a handle of a tool: checks its arguments by their schema, enforces its capabilities and the form of its stream.
pub fn handle<T: Tool>(tool: T) -> Arc<dyn ToolHandle> {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        // Some providers refuse `$ref`.
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut input_schema = settings
        .into_generator()
        .into_root_schema_for::<T::Args>()
        .to_value();
    if let Some(object) = input_schema.as_object_mut() {
        object.remove("title");
    }
    let description = Description {
        name: tool.name().to_owned(),
        description: tool.description(),
        input_schema,
    };
    let capabilities = tool.capabilities();
    Arc::new(Checked::new(Erased {
        tool: Arc::new(tool),
        description,
        capabilities,
    }))
}

struct Erased<T> {
    tool: Arc<T>,
    description: Description,
    capabilities: Capabilities,
}

fn typed<T: Tool>(args: &Value) -> Result<T::Args, ToolError> {
    serde_json::from_value(args.clone())
        .map_err(|error| ToolError::invalid(format!("the arguments do not fit: {error}")))
}

fn encoded<T: Tool>(output: T::Output) -> Result<Value, ToolError> {
    serde_json::to_value(output)
        .map_err(|error| ToolError::execution(format!("the result cannot be written as JSON: {error}")))
}

#[async_trait]
impl<T: Tool> ToolHandle for Erased<T> {
    fn describe(&self) -> &Description {
        &self.description
    }

    fn kind(&self) -> Kind {
        self.tool.kind()
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn check(&self, args: Value) -> Result<Value, ToolError> {
        let args = coerce(&self.description.input_schema, args).map_err(ToolError::invalid)?;
        typed::<T>(&args)?;
        Ok(args)
    }

    fn subject(&self, args: &Value) -> Result<Subject, ToolError> {
        self.tool.subject(&typed::<T>(args)?)
    }

    async fn preview(&self, context: &CallContext, args: &Value) -> Result<Option<Preview>, ToolError> {
        self.tool.preview(context, &typed::<T>(args)?).await
    }

    async fn prepare(&self, context: &CallContext, args: &Value) -> Result<Option<Prepared>, ToolError> {
        self.tool.prepare(context, &typed::<T>(args)?).await
    }

    fn execute(&self, context: CallContext, args: Value, prepared: Option<Prepared>) -> ToolStream {
        let (sender, receiver) = ProgressSender::new();
        let tool = self.tool.clone();
        let terminal = async move {
            let args = typed::<T>(&args)?;
            encoded::<T>(tool.execute(context, args, prepared, sender).await?)
        };
        Box::pin(merge(receiver, terminal))
    }

    async fn recover(
        &self,
        context: &CallContext,
        args: &Value,
        mark: &Value,
    ) -> Result<Recovery, ToolError> {
        self.tool.recover(context, &typed::<T>(args)?, mark).await
    }

    fn answer(&self, args: &Value, answer: Value) -> Result<Value, ToolError> {
        encoded::<T>(self.tool.answer(&typed::<T>(args)?, answer)?)
    }
}

/// Progress as it comes, then the terminal; progress that is there when the terminal is ready goes first.
fn merge(
    receiver: mpsc::Receiver<Progress>,
    terminal: impl Future<Output = Result<Value, ToolError>> + Send + 'static,
) -> impl futures::Stream<Item = ToolStreamItem> + Send {
    enum State<F> {
        Running(mpsc::Receiver<Progress>, std::pin::Pin<Box<F>>),
        Draining(mpsc::Receiver<Progress>, Result<Value, ToolError>),
        Done,
    }
    stream::unfold(State::Running(receiver, Box::pin(terminal)), |state| async move {
        let (mut receiver, result) = match state {
            State::Done => return None,
            State::Draining(receiver, result) => (receiver, result),
            State::Running(mut receiver, mut terminal) => {
                let mut open = true;
                let result = loop {
                    tokio::select! {
                        biased;
                        progress = receiver.recv(), if open => match progress {
                            Some(progress) => {
                                return Some((ToolStreamItem::Progress(progress), State::Running(receiver, terminal)));
                            }
                            None => open = false,
                        },
                        result = &mut terminal => break result,
                    }
                };
                (receiver, result)
            }
        };
        match receiver.try_recv() {
            Ok(progress) => Some((
                ToolStreamItem::Progress(progress),
                State::Draining(receiver, result),
            )),
            Err(_) => Some((ToolStreamItem::Terminal(result), State::Done)),
        }
    })
}
