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
    Finish(u8, u32, bool, u8),
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
    HandIn(u8, u32, bool, u8),
    AskFor(u8),
    Sent(u8, bool),
    Close,
    Open,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        2 => Just(Event::Send),
        3 => Just(Event::Begin),
        5 => (0u8..5).prop_map(Event::Reply),
        1 => Just(Event::Fail),
        5 => (0u8..3, any::<bool>()).prop_map(|(n, mark)| Event::Claim(n, mark)),
        5 => (0u8..6, 0u32..3, any::<bool>(), 1u8..5)
            .prop_map(|(n, attempt, good, times)| Event::Finish(n, attempt, good, times)),
        3 => (0u8..6, any::<bool>()).prop_map(|(n, yes)| Event::Approve(n, yes)),
        1 => Just(Event::Stop),
        1 => Just(Event::Deadline),
        1 => Just(Event::Recover),
        1 => (0u8..6).prop_map(Event::Unknown),
        1 => (0u8..6, 0u8..3).prop_map(|(n, how)| Event::Resolve(n, how)),
        1 => (0u8..5).prop_map(Event::Mode),
        3 => (0u8..6, 0u8..2).prop_map(|(n, holder)| Event::Lease(n, holder)),
        1 => (0u8..6).prop_map(Event::Renew),
        3 => (0u8..6, 0u32..3).prop_map(|(n, attempt)| Event::Tick(n, attempt)),
        1 => Just(Event::Clear),
        2 => (0u8..6, 0u32..3, any::<bool>(), 1u8..5)
            .prop_map(|(n, attempt, good, times)| Event::HandIn(n, attempt, good, times)),
        1 => (0u8..6).prop_map(Event::AskFor),
        1 => (0u8..6, any::<bool>()).prop_map(|(n, here)| Event::Sent(n, here)),
        1 => Just(Event::Close),
        2 => Just(Event::Open),
    ]
}

/// Tells how a call ended so many times, with a recovery before each but the first. Once it is over, nothing of the call,
/// its result or its turn is other than it was.
fn again_and_again(
    lane: &mut Lane,
    rtc: RtcId,
    times: u8,
    command: Command,
    asked: &mut bool,
) -> Result<(), TestCaseError> {
    let asks = |lane: &Lane| {
        lane.effects
            .iter()
            .any(|effect| matches!(effect, Effect::AskModel(_)))
    };
    for time in 0..times {
        if time > 0 {
            prop_assert!(!(asks(lane) && *asked), "the model is asked once a round");
            lane.tell(Command::Recover);
            *asked = asks(lane);
        }
        let is_over = lane.state.call(rtc).is_none();
        let before = (
            lane.state.clone(),
            lane.messages.clone(),
            lane.rtcs.clone(),
            lane.turns.clone(),
        );
        lane.tell(command.clone());
        if is_over {
            let after = (
                lane.state.clone(),
                lane.messages.clone(),
                lane.rtcs.clone(),
                lane.turns.clone(),
            );
            prop_assert_eq!(before, after, "what is over takes no result");
            prop_assert_eq!(&lane.effects, &[]);
        }
    }
    Ok(())
}

proptest! {
    /// Whatever happens in whatever order: terminal is final (asserted where records are written), at most one turn is
    /// open, every call of a turn that is over has exactly one result, the model is asked once a round, and a message is
    /// never lost: it is taken by a turn, and by one that was stopped only if it was said before.
    #[test]
    fn nothing_is_lost_and_nothing_is_done_twice(events in proptest::collection::vec(event(), 1..60)) {
        let mut lane = Lane::new();
        let mut sent = 0usize;
        let mut stops = 0usize;
        // By the place of a message: how often it had been stopped when it was said.
        let mut stopped = BTreeMap::new();
        let mut asked = false;
        let mut calls = 0usize;
        for event in events {
            // One that is open now, or any that there ever was: what is over comes up again as well.
            let of = |lane: &Lane, n: u8| match usize::from(n) {
                n @ 0..3 => lane.state.calls.get(n).map(|call| call.stored.entity.id),
                n => lane.rtcs.values().rev().nth(n - 3).map(|rtc| rtc.id),
            };
            let turn = lane.state.turn.as_ref().map(|turn| turn.entity.id);
            let runs = lane.state.turn.as_ref().is_some_and(|turn| turn.entity.status == TurnStatus::Running);
            let is_closed = lane.state.session.as_ref().is_some_and(|session| session.entity.status == SessionStatus::Closed);
            match event {
                Event::Stop | Event::Close => {
                    stops += 1;
                    asked = false;
                }
                Event::Reply(_) | Event::Fail if runs => asked = false,
                Event::Recover => asked = false,
                _ => {}
            }
            lane.effects.clear();
            match event {
                Event::Send => if !is_closed {
                    lane.send("m");
                    sent += 1;
                    let said = lane.messages.keys().last().copied();
                    stopped.insert(said.unwrap(), stops);
                },
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
                Event::Finish(n, attempt, good, times) => if let Some(rtc) = of(&lane, n) {
                    let result = if good { Ok(json!("r")) } else { Err(ToolError::execution("e")) };
                    let outcome = Outcome { result, seen: Vec::new() };
                    again_and_again(&mut lane, rtc, times, Command::Finish { rtc, attempt, outcome }, &mut asked)?;
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
                    let _ = lane.try_tell(Command::Renew { rtc, holder: Uuid::nil(), attempt: None });
                },
                Event::Tick(n, attempt) => if let Some(rtc) = of(&lane, n) {
                    lane.tell(Command::LeaseTick { rtc, attempt });
                },
                Event::Clear => { let _ = lane.try_tell(Command::ClearHistory); }
                Event::HandIn(n, attempt, good, times) => if let Some(rtc) = of(&lane, n) {
                    let result = if good { Ok(json!("r")) } else { Err(ToolError::execution("e")) };
                    let outcome = Outcome { result, seen: Vec::new() };
                    let hand_in = Command::HandIn { rtc, attempt, outcome, by: None };
                    again_and_again(&mut lane, rtc, times, hand_in, &mut asked)?;
                },
                Event::AskFor(n) => if let Some(rtc) = of(&lane, n) {
                    lane.tell(Command::AskFor { rtc, preview: None });
                },
                Event::Sent(n, runs_here) => if let Some(rtc) = of(&lane, n) {
                    lane.tell(Command::Sent { rtc, runs_here });
                },
                Event::Close => { lane.tell(Command::Close); }
                Event::Open => { lane.tell(Command::Open); }
                Event::Mode(n) => { lane.tell(Command::SetMode(Mode::ALL[usize::from(n)])); }
            }
            for _ in lane.effects.iter().filter(|effect| matches!(effect, Effect::AskModel(_))) {
                prop_assert!(!asked, "the model is asked once a round");
                asked = true;
            }
            for (place, before) in &stopped {
                let turn = lane.messages[place].turn_id.and_then(|id| lane.turns.iter().find(|turn| turn.id == id));
                let is_stopped = turn.is_some_and(|turn| turn.status == TurnStatus::Cancelled);
                prop_assert!(!is_stopped || *before < stops, "what is said after a stop is answered");
            }
            prop_assert!(lane.turns.iter().filter(|turn| !turn.status.is_terminal()).count() <= 1);
            let interrupted = lane.state.turn.as_ref().is_some_and(|turn| turn.entity.status == TurnStatus::Interrupted);
            prop_assert_eq!(interrupted, !lane.state.calls.is_empty(), "a turn is interrupted while, and only while, a call is open");
        }
        // What is repaired at a start is repaired: the next start finds nothing to do.
        lane.tell(Command::Recover);
        let repaired = (lane.state.clone(), lane.messages.clone(), lane.rtcs.clone(), lane.turns.clone());
        lane.tell(Command::Recover);
        prop_assert_eq!(repaired, (lane.state.clone(), lane.messages.clone(), lane.rtcs.clone(), lane.turns.clone()));
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
