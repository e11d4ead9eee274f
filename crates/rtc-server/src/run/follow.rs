//! Following a session until nothing goes on in it: what happens is shown, what is asked is answered.

use anyhow::Result;
use rtc_types::{Code, Update};
use rtc_wire::LiveEvent;
use rtc_wire::rpc::TurnStop;
use tokio::sync::broadcast::error::RecvError;

use super::{Begun, Course, Ears, Ended, Turn};
use crate::args::OutputForm;
use crate::console::Style;
use crate::desk::{Error, told};
use crate::exit::UsageError;
use crate::view::AskedFor;

impl Turn<'_> {
    pub(super) async fn follow(&self, course: &mut Course<'_>, begun: &mut Begun) -> Result<Ended> {
        if course.is_stopping {
            return self.stop(course, begun).await;
        }
        let Course {
            asker,
            interrupts,
            ears,
            went_on,
            ..
        } = course;
        let ears = ears.get_or_insert_with(|| Ears::of(self.desk));
        'turn: loop {
            // Before the updates are read: what is committed after this line wakes the loop again.
            ears.position.borrow_and_update();
            self.show_updates(begun).await?;
            // What was left may be over by now.
            *went_on |= begun.view.has_gone_on();
            if begun.view.is_idle() {
                if !*went_on {
                    self.tell_nothing_left(begun).await?;
                }
                return Ok(Ended::Idle);
            }
            *went_on = true;
            let asked_for = begun.view.asked_for();
            let answer = {
                let mut answer = std::pin::pin!(asker.ask(asked_for.as_ref()));
                loop {
                    tokio::select! {
                        biased;
                        stopped = interrupts.pressed() => {
                            stopped?;
                            break None;
                        }
                        answer = &mut answer => break Some(Ok(answer)),
                        changed = ears.position.changed() => {
                            changed.map_err(|_| Error::Lost)?;
                            let Some(asked) = &asked_for else { continue 'turn };
                            if let Some(news) = self.show_while(begun, asked).await? {
                                break Some(Err(news));
                            }
                        }
                        () = begun.live.due() => {
                            for update in begun.live.take_due() {
                                self.console.result(&serde_json::to_string(&update)?);
                            }
                        }
                        heard = ears.live.next() => match heard {
                            Ok(LiveEvent::Trouble(trouble)) if trouble.session_id == begun.view.session() => {
                                self.console.styled(Style::Warning, &trouble.message);
                                return Ok(Ended::Trouble);
                            }
                            Ok(heard) => self.show_live(begun, &heard),
                            Err(RecvError::Lagged(_)) => begun.live.lost(),
                            Err(RecvError::Closed) => return Err(Error::Lost.into()),
                        },
                    }
                }
            };
            let Some(answer) = answer else {
                asker.give_up();
                break self.stop(course, begun).await;
            };
            let Some(asked_for) = &asked_for else { continue };
            let answer = match answer {
                Ok(answer) => answer,
                Err(news) => {
                    // Before what came of it.
                    let told = asker.withdraw(self.desk, asked_for).await;
                    self.show(begun, &news)?;
                    told?;
                    continue;
                }
            };
            // Handed in to the end, whatever happens meanwhile: an answer that was given is not given twice.
            match asker.hand_in(self.desk, asked_for, answer).await {
                Ok(()) => {}
                // Not a possible answer, or somebody else's was first: look what there is to ask now.
                Err(error) if is_refusal(&error) => {
                    self.console.styled(Style::Warning, &format!("{error:#}"));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Shows what has been committed since the cursor; durable, so nothing is missed however slow the terminal is.
    async fn show_updates(&self, begun: &mut Begun) -> Result<()> {
        while let Some(news) = self.news(begun).await? {
            self.show(begun, &news)?;
        }
        Ok(())
    }

    /// The same as long as a question still stands, which then goes on being asked; else what is to be shown after it.
    async fn show_while(&self, begun: &mut Begun, asked: &AskedFor) -> Result<Option<Vec<Update>>> {
        while let Some(news) = self.news(begun).await? {
            if !asked.is_still(begun.view.asked_for().as_ref()) {
                return Ok(Some(news));
            }
            self.show(begun, &news)?;
        }
        Ok(None)
    }

    /// Some of the updates of the session after the cursor, not yet shown; nothing if there are no more.
    async fn news(&self, begun: &mut Begun) -> Result<Option<Vec<Update>>> {
        let before = begun.cursor.offset;
        let mut updates = self.desk.updates(&mut begun.cursor).await?;
        updates.retain(|update| begun.view.update(update));
        Ok((begun.cursor.offset != before).then_some(updates))
    }

    fn show(&self, begun: &mut Begun, updates: &[Update]) -> Result<()> {
        let text = self.args.output == OutputForm::Text;
        for update in updates {
            let answers = begun.text.update(self.console, update, !text);
            match self.args.output {
                OutputForm::Text => answers
                    .iter()
                    .for_each(|answer| self.console.result(&begun.text.set_off(answer))),
                OutputForm::StreamJson => {
                    begun.live.update(update);
                    self.console.result(&serde_json::to_string(update)?);
                }
                OutputForm::Json => {}
            }
        }
        Ok(())
    }

    /// Shows what is not durable.
    fn show_live(&self, begun: &mut Begun, heard: &LiveEvent) {
        match (self.args.output, heard) {
            (OutputForm::Text, heard) => {
                if let Some((rtc, text)) = told(heard) {
                    begun.text.told(self.console, rtc, text);
                }
            }
            (OutputForm::StreamJson, LiveEvent::Delta(piece)) => {
                begun.live.piece(piece.message_id, piece.thinking, &piece.delta);
            }
            (OutputForm::StreamJson, LiveEvent::Update(update)) => begun.live.whole(update),
            (OutputForm::StreamJson | OutputForm::Json, _) => {}
        }
    }

    async fn stop(&self, course: &mut Course<'_>, begun: &mut Begun) -> Result<Ended> {
        self.console.styled(Style::Warning, "Stopping …");
        course.is_stopping = true;
        let ears = course.ears.get_or_insert_with(|| Ears::of(self.desk));
        let session_id = begun.view.session();
        let mut stopping = std::pin::pin!(self.desk.call(TurnStop { session_id }));
        let mut is_asked = false;
        loop {
            ears.position.borrow_and_update();
            // After each change, so that all that led to the end is shown: also what became of a call meanwhile.
            self.show_updates(begun).await?;
            if is_asked && begun.view.is_idle() {
                return Ok(Ended::Stopped);
            }
            tokio::select! {
                answer = &mut stopping, if !is_asked => {
                    answer?;
                    is_asked = true;
                }
                changed = ears.position.changed() => changed.map_err(|_| Error::Lost)?,
                // Whoever presses it twice does not want to wait.
                pressed = course.interrupts.pressed() => {
                    pressed?;
                    return Ok(Ended::Stopped);
                }
            }
        }
    }
}

/// Whether the engine did not take an answer, rather than failed at it.
fn is_refusal(error: &anyhow::Error) -> bool {
    if error.downcast_ref::<UsageError>().is_some() {
        return true;
    }
    match error.downcast_ref() {
        Some(Error::Refused(error)) => !matches!(
            error.code,
            Code::Internal
                | Code::StoreDamaged
                | Code::ShuttingDown
                | Code::Unauthorized
                | Code::PermissionDenied
                | Code::DiskFull
        ),
        _ => false,
    }
}
