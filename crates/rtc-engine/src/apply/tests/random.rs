use proptest::prelude::*;

use super::*;

/// Something that happens to a lane, from anywhere, at any time.
#[derive(Debug, Clone)]
enum Event {
    Send,
    Begin,
    Reply(u8),
    Fail,
    Claim(u8, bool),
    Finish(u8, u32, bool),
    Approve(u8, bool),
    Stop,
    Deadline,
    Recover,
    Unknown(u8),
    Resolve(u8, u8),
    Mode(u8),
    Lease(u8, u8),
    Renew(u8),
    Tick(u8, u32),
    Clear,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        2 => Just(Event::Send),
        3 => Just(Event::Begin),
        5 => (0u8..5).prop_map(Event::Reply),
        1 => Just(Event::Fail),
        5 => (0u8..3, any::<bool>()).prop_map(|(n, mark)| Event::Claim(n, mark)),
        5 => (0u8..3, 0u32..3, any::<bool>()).prop_map(|(n, attempt, good)| Event::Finish(n, attempt, good)),
        3 => (0u8..3, any::<bool>()).prop_map(|(n, yes)| Event::Approve(n, yes)),
        1 => Just(Event::Stop),
        1 => Just(Event::Deadline),
        1 => Just(Event::Recover),
        1 => (0u8..3).prop_map(Event::Unknown),
        1 => (0u8..3, 0u8..3).prop_map(|(n, how)| Event::Resolve(n, how)),
        1 => (0u8..5).prop_map(Event::Mode),
        3 => (0u8..3, 0u8..2).prop_map(|(n, holder)| Event::Lease(n, holder)),
        1 => (0u8..3).prop_map(Event::Renew),
        3 => (0u8..3, 0u32..3).prop_map(|(n, attempt)| Event::Tick(n, attempt)),
        1 => Just(Event::Clear),
    ]
}

proptest! {
    /// Whatever happens in whatever order: terminal is final (asserted where records are written), at most one turn is
    /// open, every call of a turn that is over has exactly one result, and a message is never lost.
    #[test]
    fn nothing_is_lost_and_nothing_is_done_twice(events in proptest::collection::vec(event(), 1..60)) {
        let mut lane = Lane::new();
        let mut sent = 0usize;
        let mut calls = 0usize;
        for event in events {
            let of = |lane: &Lane, n: u8| lane.state.calls.get(usize::from(n)).map(|call| call.stored.entity.id);
            let turn = lane.state.turn.as_ref().map(|turn| turn.entity.id);
            match event {
                Event::Send => {
                    lane.send("m");
                    sent += 1;
                }
                Event::Begin => {
                    if lane.state.session.is_some() {
                        let context = TurnContext { model: model(), system: String::new(), tools: Vec::new(), mode: Mode::Edit, max_rounds: (sent > 3).then_some(2), cleared: None };
                        lane.tell(Command::Begin { context: Box::new(context) });
                    }
                }
                Event::Reply(kind) => if let Some(turn) = turn {
                    let made = match kind {
                        0 => Vec::new(),
                        1 => vec![read("a")],
                        2 => vec![edit("a"), script("b")],
                        3 => vec![script("a"), read("b"), edit("c")],
                        _ => vec![planned("a", Plan::Invalid(ToolError::invalid("no")))],
                    };
                    let reply = Reply { blocks: vec![AssistantBlock::Text { text: "t".into() }], stop: StopReason::EndTurn, usage: Usage::default() };
                    let taken = lane.state.turn.as_ref().is_some_and(|turn| turn.entity.status == TurnStatus::Running);
                    if taken { calls += made.len(); }
                    lane.tell(Command::Replied { turn, model: model(), reply: Box::new(reply), calls: made });
                },
                Event::Fail => if let Some(turn) = turn {
                    lane.tell(Command::ModelFailed { turn, category: ErrorCategory::Api, message: "x".into(), retryable: true });
                },
                Event::Claim(n, mark) => if usize::from(n) < lane.state.calls.len() {
                    let _ = lane.claim(usize::from(n), mark);
                },
                Event::Finish(n, attempt, good) => if let Some(rtc) = of(&lane, n) {
                    let result = if good { Ok(json!("r")) } else { Err(ToolError::execution("e")) };
                    lane.finish(rtc, attempt, result);
                },
                Event::Approve(n, yes) => if let Some(rtc) = of(&lane, n) {
                    let decision = if yes { ApprovalDecision::Once } else { ApprovalDecision::Reject };
                    let _ = lane.try_tell(Command::Approve { rtc, decision, reason: None, device: DeviceId::new(Uuid::nil()) });
                },
                Event::Stop => { lane.tell(Command::Stop); }
                Event::Deadline => if let Some(rtc) = of(&lane, 0) { lane.tell(Command::StopDeadline { rtc }); },
                Event::Recover => { lane.tell(Command::Recover); }
                Event::Unknown(n) => if let Some(rtc) = of(&lane, n) {
                    lane.tell(Command::OutcomeUnknown { rtc, evidence: "e".into() });
                },
                Event::Resolve(n, how) => if let Some(rtc) = of(&lane, n) {
                    let decision = [Resolution::Retry, Resolution::Done, Resolution::Tell][usize::from(how)];
                    let _ = lane.try_tell(Command::Resolve { rtc, decision });
                },
                Event::Lease(n, holder) => if let Some(rtc) = of(&lane, n) {
                    let _ = lane.try_tell(Command::Lease { rtc, holder: Uuid::from_u128(holder.into()) });
                },
                Event::Renew(n) => if let Some(rtc) = of(&lane, n) {
                    let _ = lane.try_tell(Command::Renew { rtc });
                },
                Event::Tick(n, attempt) => if let Some(rtc) = of(&lane, n) {
                    lane.tell(Command::LeaseTick { rtc, attempt });
                },
                Event::Clear => { lane.tell(Command::ClearHistory); }
                Event::Mode(n) => { lane.tell(Command::SetMode(Mode::ALL[usize::from(n)])); }
            }
            prop_assert!(lane.turns.iter().filter(|turn| !turn.status.is_terminal()).count() <= 1);
            let interrupted = lane.state.turn.as_ref().is_some_and(|turn| turn.entity.status == TurnStatus::Interrupted);
            prop_assert_eq!(interrupted, !lane.state.calls.is_empty(), "a turn is interrupted while, and only while, a call is open");
        }
        // Everything that was said is a message, and each call has its one result when its turn is over.
        let kinds = lane.kinds();
        prop_assert_eq!(kinds.iter().filter(|kind| **kind == "user").count(), sent);
        prop_assert_eq!(kinds.iter().filter(|kind| **kind == "call").count(), calls);
        let open = lane.state.calls.len();
        prop_assert_eq!(kinds.iter().filter(|kind| **kind == "result").count(), calls - open);
        let mut parents: Vec<_> = lane.messages.values().filter_map(|message| message.parent_message_id).collect();
        parents.sort();
        parents.dedup();
        prop_assert_eq!(parents.len(), calls - open, "no call has two results");
    }
}
