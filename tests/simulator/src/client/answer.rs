//! A client that answers for the user, as planned.

use std::sync::Arc;

use rtc_engine::Resolution;
use serde_json::{Value, json};

use super::kept::{is_over, waits_for_a_yes};
use super::talk::{Question, Talk};

/// How an answer is refused when there is no room on the disk for it.
const NO_ROOM: &str = "store.full:";

impl Talk<'_> {
    /// Answers the first call that waits for the user, as far as is known; one at a time.
    pub(super) async fn answer(&mut self) {
        if !self.client.plan.answers || self.loading.is_some() || self.tries_again {
            return;
        }
        let Some(call) = self.waits() else {
            self.answering = None;
            return;
        };
        // Until something more is known of it.
        if self.answering.as_ref() == Some(&call) {
            return;
        }
        self.answering = Some(call.clone());
        let parameters = &call["parameters"];
        let id = ["text", "code", "question"]
            .iter()
            .find_map(|name| parameters[*name].as_str());
        let Some((id, plan)) = id.and_then(|id| Some((id, self.client.scenario.call(id)?))) else {
            self.client
                .world
                .wrong(format!("a client is asked about {call}, which nobody called"));
            return;
        };
        let (rtc, world) = (&call["id"], &self.client.world);
        if waits_for_a_yes(&call) {
            let data = json!({"rtc_id": rtc, "decision": plan.decision});
            world.with(|facts| facts.answered.push((id.into(), plan.decision)));
            self.call(Question::Answer(None), "v1.rtc.approve", data).await;
        } else if call["outcome"] == "unknown" {
            let retries = plan.resolution == Resolution::Retry;
            let decision = match plan.resolution {
                Resolution::Retry => "retry",
                Resolution::Done => "done",
                Resolution::Tell => "tell",
            };
            // It may be done although the connection breaks before anybody says so.
            if retries {
                world.with(|facts| facts.retried.push(id.into()));
            }
            let data = json!({"rtc_id": rtc, "decision": decision});
            let program = retries.then(|| id.into());
            self.call(Question::Answer(program), "v1.rtc.resolve", data).await;
        } else {
            let answer = format!("answer {id}");
            let data = json!({"rtc_id": rtc, "success": true, "result": answer});
            self.call(Question::Answer(None), "v1.rtc.submit_result", data)
                .await;
        }
    }

    /// The first call that waits for the user: of each session only the first open call does.
    fn waits(&self) -> Option<Arc<Value>> {
        let entities = self.client.kept(|kept| kept.entities.clone());
        let mut open: Vec<&Arc<Value>> = entities
            .values()
            .filter(|entity| entity.get("tool_name").is_some() && !is_over(entity))
            .collect();
        let place = |call: &&Arc<Value>| (call["session_id"].to_string(), call["offset"].as_u64());
        open.sort_by_key(place);
        open.dedup_by_key(|call| call["session_id"].to_string());
        let waits = |call: &Value| {
            waits_for_a_yes(call) || call["outcome"] == "unknown" || call["tool_name"] == "ask"
        };
        open.into_iter().find(|call| waits(call)).cloned()
    }

    /// What was made of an answer.
    pub(super) async fn answered(
        &mut self,
        program: Option<Arc<str>>,
        mut reply: Value,
    ) -> Result<(), String> {
        let Some(error) = reply.get("error") else {
            return self.take_updates(reply["rpc"]["data"]["updates"].take()).await;
        };
        let has_failed = self.client.world.with(|facts| facts.has_failed);
        // After a failure it may be done although it was not told.
        if let Some(program) = program.filter(|_| !has_failed) {
            self.client.world.with(|facts| {
                let at = facts.retried.iter().rposition(|id| *id == program);
                at.map(|at| facts.retried.remove(at))
            });
        }
        let message = error["message"].as_str().unwrap_or_default();
        if message.starts_with(NO_ROOM) || has_failed {
            self.tries_again = true;
            self.answering = None;
        }
        // Else somebody was faster; what has become of it is told.
        Ok(())
    }
}
