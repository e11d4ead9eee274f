use super::*;

#[test]
fn a_stop_survives_the_process() {
    // What is found of the call that ran when the process ended.
    for (found, effect) in [
        (Some(Ok(json!("x"))), Changed::Applied),
        (
            Some(Err(ToolError::execution("the disk broke"))),
            Changed::Unknown,
        ),
        (None, Changed::Unknown),
    ] {
        let mut lane = Lane::with_calls(vec![edit("c1"), edit("c2")]);
        let [first, second] = [lane.open(0), lane.open(1)];
        lane.claim(0, true).unwrap();
        lane.tell(Command::Stop);
        assert!(
            lane.state.session.as_ref().unwrap().private.stopping,
            "it is stored"
        );
        lane.tell(Command::Recover);
        assert_eq!(lane.effects, [Effect::WakeExecutor], "the mark is looked at");
        assert_eq!(lane.state.next_for_executor().unwrap().stored.entity.id, first);
        match found {
            Some(result) => lane.finish(first, 1, result),
            None => {
                _ = lane.tell(Command::OutcomeUnknown {
                    rtc: first,
                    evidence: "e".into(),
                })
            }
        }
        assert_eq!(
            (lane.rtc(first).effect, lane.rtc(second).effect),
            (Some(effect), Some(Changed::None))
        );
        assert!(lane.state.is_idle() && !lane.state.session.as_ref().unwrap().private.stopping);
    }
    // The mark says that nothing was changed: the executor would run it, and may not.
    let mut lane = Lane::with_calls(vec![edit("c1")]);
    let first = lane.open(0);
    lane.claim(0, true).unwrap();
    lane.tell(Command::Stop);
    lane.tell(Command::Recover);
    assert_eq!(lane.claim(0, true).unwrap(), Done::NotClaimed);
    assert_eq!(lane.rtc(first).effect, Some(Changed::None));
    // Nothing was marked: there is nothing to look at.
    let mut lane = Lane::with_calls(vec![edit("c1")]);
    lane.claim(0, false).unwrap();
    lane.tell(Command::Stop);
    lane.tell(Command::Recover);
    assert!(lane.state.is_idle());
}

#[test]
fn what_was_found_of_an_unknown_outcome_is_told_after_a_stop_too() {
    let unknown = |lane: &mut Lane, rtc| {
        lane.tell(Command::OutcomeUnknown {
            rtc,
            evidence: "It may have changed: /a.txt.".into(),
        });
    };
    let mut asked = Lane::with_calls(vec![edit("c1")]);
    let rtc = asked.open(0);
    asked.claim(0, true).unwrap();
    asked.tell(Command::Recover);
    unknown(&mut asked, rtc);
    asked.tell(Command::Stop);
    assert_eq!(asked.rtc(rtc).effect, Some(Changed::Unknown));
    insta::assert_snapshot!(asked.output(rtc), @"[Tool Rejected] edit was rejected: the call was started and the program ended before its result was known; then the user stopped the turn. It may have changed: /a.txt. Look at what is there before you repeat it.");

    let mut stopped = Lane::with_calls(vec![edit("c1")]);
    let rtc = stopped.open(0);
    stopped.claim(0, true).unwrap();
    stopped.tell(Command::Stop);
    stopped.tell(Command::Recover);
    unknown(&mut stopped, rtc);
    assert_eq!(stopped.rtc(rtc).effect, Some(Changed::Unknown));
    insta::assert_snapshot!(stopped.output(rtc), @"[Tool Rejected] edit was rejected: the user stopped the turn while this call ran; whether it took effect is not known, look before you repeat it. It says: It may have changed: /a.txt.");
}

/// After a restart a call with a mark may be one to ask about: a No that comes after the stop must not let the turn go on.
#[test]
fn nobody_is_asked_after_a_stop() {
    let mut lane = Lane::with_calls(vec![edit("c1")]);
    let rtc = lane.open(0);
    lane.claim(0, true).unwrap();
    lane.tell(Command::Recover);
    lane.tell(Command::SetMode(Mode::Manual));
    // Nobody has looked at its mark yet.
    lane.tell(Command::AskFor {
        rtc,
        preview: Some(preview("/a")),
    });
    assert_eq!(
        lane.rtc(rtc).approval.as_ref().unwrap().state,
        ApprovalState::Open
    );
    lane.tell(Command::Stop);
    assert_eq!(
        lane.rtc(rtc).approval.as_ref().unwrap().state,
        ApprovalState::Withdrawn
    );
    assert!(lane.effects.contains(&Effect::WakeExecutor), "{:?}", lane.effects);
    let no = lane.try_tell(Command::Approve {
        rtc,
        decision: ApprovalDecision::Reject,
        reason: None,
        device: DeviceId::new(Uuid::from_u128(9)),
    });
    assert_eq!(no.unwrap_err().code(), Code::ApprovalClosed);
    assert_eq!(lane.state.next_for_executor().unwrap().stored.entity.id, rtc);
    assert_eq!(lane.claim(0, true).unwrap(), Done::NotClaimed);
    assert_eq!(lane.rtc(rtc).effect, Some(Changed::None));
    assert_eq!(lane.turns[0].status, TurnStatus::Cancelled);
}

#[test]
fn stop_before_the_turn_begins_is_not_lost() {
    let mut lane = Lane::new();
    lane.send("x");
    lane.tell(Command::Stop);
    assert!(lane.state.is_idle());
    assert_eq!(lane.turns[0].status, TurnStatus::Cancelled);
    let context = TurnContext {
        model: model(),
        system: String::new(),
        tools: Vec::new(),
        mode: Mode::Edit,
        max_rounds: None,
        cleared: None,
    };
    lane.tell(Command::Begin {
        context: Box::new(context),
    });
    assert!(lane.effects.is_empty(), "what was gathered before comes too late");
    assert!(lane.messages.values().all(|message| message.turn_id.is_some()));
}

#[test]
fn what_is_said_while_a_stop_waits_is_answered() {
    let turn_of = |lane: &Lane, text: &str| {
        let said = |message: &&rtc_types::Message| format!("{:?}", message.content).contains(text);
        lane.messages.values().find(said).unwrap().turn_id
    };
    for restarts in [false, true] {
        let mut lane = Lane::with_calls(vec![edit("c1")]);
        let rtc = lane.open(0);
        let first = lane.turns[0].id;
        lane.claim(0, true).unwrap();
        lane.send("before");
        lane.tell(Command::Stop);
        lane.send("after");
        if restarts {
            lane.tell(Command::Recover);
        }
        lane.tell(Command::StopDeadline { rtc });
        assert_eq!(lane.turns[0].status, TurnStatus::Cancelled);
        assert_eq!(
            lane.effects.last(),
            Some(&Effect::GatherContext),
            "{:?}",
            lane.effects
        );
        let second = lane.begin();
        assert_eq!(
            (turn_of(&lane, "before"), turn_of(&lane, "after")),
            (Some(first), Some(second))
        );
    }
    // Stopped once more, it is not.
    let mut lane = Lane::with_calls(vec![edit("c1")]);
    let rtc = lane.open(0);
    let first = lane.turns[0].id;
    lane.claim(0, true).unwrap();
    lane.tell(Command::Stop);
    lane.send("after");
    lane.tell(Command::Stop);
    lane.tell(Command::StopDeadline { rtc });
    assert!(lane.state.is_idle() && !lane.effects.contains(&Effect::GatherContext));
    assert_eq!(turn_of(&lane, "after"), Some(first));
}

#[test]
fn a_call_started_again_without_certainty_is_never_said_to_have_changed_nothing() {
    let mut lane = Lane::with_calls(vec![edit("c1")]);
    let rtc = lane.open(0);
    lane.claim(0, true).unwrap();
    lane.tell(Command::Recover);
    lane.tell(Command::OutcomeUnknown {
        rtc,
        evidence: "e".into(),
    });
    lane.tell(Command::Resolve {
        rtc,
        decision: Resolution::Retry,
    });
    let mut refused = lane.clone();
    lane.tell(Command::Stop);
    assert_eq!(lane.rtc(rtc).effect, Some(Changed::Unknown));
    // Or refused, now that the user asks for more.
    refused.tell(Command::SetMode(Mode::Plan));
    refused.claim(0, true).unwrap();
    assert_eq!(
        (refused.rtc(rtc).status, refused.rtc(rtc).effect),
        (RtcStatus::Rejected, Some(Changed::Unknown))
    );
    insta::assert_snapshot!(refused.output(rtc), @"
    [Tool Rejected] edit was rejected: the session is in plan mode, in which nothing is changed: describe what you would do instead
    [an earlier start of this call may have taken effect: look before you repeat it]
    ");
}

#[test]
fn the_time_of_an_earlier_stop_does_not_end_a_later_one() {
    let mut lane = Lane::with_calls(vec![edit("c1")]);
    let earlier = lane.open(0);
    lane.claim(0, true).unwrap();
    lane.tell(Command::Stop);
    lane.finish(earlier, 1, Ok(json!("x")));
    lane.send("y");
    lane.begin();
    lane.reply("", vec![edit("c2")]);
    let later = lane.open(0);
    lane.claim(0, true).unwrap();
    lane.tell(Command::Stop);
    lane.tell(Command::StopDeadline { rtc: earlier });
    assert!(lane.state.stopping);
    lane.tell(Command::StopDeadline { rtc: later });
    assert_eq!(lane.rtc(later).effect, Some(Changed::Unknown));
}

#[test]
fn stop_also_ends_a_call_that_is_being_prepared() {
    let mut lane = Lane::with_calls(vec![edit("c1")]);
    let rtc = lane.open(0);
    lane.tell(Command::Stop);
    assert!(lane.effects.contains(&Effect::CancelCall(rtc)));
    assert!(lane.state.is_idle());
}

#[test]
fn stop_says_of_each_call_whether_it_took_effect() {
    // Whether the call was claimed with a mark, how it ended in time, and what is then said of it.
    let cases = [
        (None, None, Changed::None),
        (Some(false), None, Changed::None),
        (Some(true), None, Changed::Unknown),
        (Some(false), Some(Ok(json!("x"))), Changed::None),
        (Some(true), Some(Ok(json!("x"))), Changed::Applied),
        (Some(true), Some(Err(ToolError::cancelled())), Changed::None),
    ];
    for (claimed, ended, effect) in cases {
        let mut lane = Lane::with_calls(vec![edit("c1"), script("c2")]);
        let [first, second] = [lane.open(0), lane.open(1)];
        if let Some(mark) = claimed {
            lane.claim(0, mark).unwrap();
        }
        lane.tell(Command::Stop);
        assert!(lane.effects.contains(&Effect::CancelModel));
        if claimed.is_some() {
            assert!(lane.effects.contains(&Effect::CancelCall(first)));
            assert!(
                lane.claim(1, true).is_err() || lane.state.stopping,
                "nothing else starts"
            );
            match ended.clone() {
                Some(result) => lane.finish(first, 1, result),
                None => _ = lane.tell(Command::StopDeadline { rtc: first }),
            }
        }
        let case = format!("{claimed:?} {ended:?}");
        assert_eq!(lane.rtc(first).status, RtcStatus::Rejected, "{case}");
        assert_eq!(lane.rtc(first).effect, Some(effect), "{case}");
        assert_eq!(lane.rtc(second).effect, Some(Changed::None), "{case}");
        assert_eq!(
            lane.rtc(second).approval.as_ref().unwrap().state,
            ApprovalState::Withdrawn,
            "{case}"
        );
        assert_eq!(lane.turns[0].status, TurnStatus::Cancelled, "{case}");
        assert!(lane.state.is_idle(), "{case}");
        lane.finish(first, 1, Ok(json!("late")));
        assert!(lane.effects.is_empty(), "after Stop nothing starts: {case}");
    }
}

#[test]
fn stop_keeps_the_text_so_far_and_the_messages_that_waited() {
    let mut lane = Lane::new();
    lane.send("x");
    let turn = lane.begin();
    let Done::Stream(message) = lane.tell(Command::StreamStarted {
        turn,
        thinking: false,
    }) else {
        panic!()
    };
    lane.tell(Command::Spill {
        message,
        text: "half a sent".into(),
    });
    lane.send("wait");
    lane.tell(Command::Stop);
    let said = lane.messages.values().find(|other| other.id == message).unwrap();
    assert_eq!(
        said.content,
        Content::from(ContentData::Markdown("half a sent".into()))
    );
    assert_eq!(said.streaming_status, StreamingStatus::Completed);
    assert!(
        lane.state.is_idle(),
        "what waited does not start a turn by itself"
    );
    assert!(
        lane.messages.values().all(|message| message.turn_id.is_some()),
        "it is part of the next prompt"
    );
}
