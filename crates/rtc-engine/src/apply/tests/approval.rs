//! What is asked before a call runs.

use super::*;

#[test]
fn a_script_is_asked_for_and_a_no_is_told_to_the_model() {
    let mut lane = Lane::with_calls(vec![script("c1")]);
    let rtc = lane.open(0);
    assert_eq!(
        lane.rtc(rtc).approval.as_ref().unwrap().state,
        ApprovalState::Open
    );
    assert_eq!(
        lane.claim(0, true).unwrap(),
        Done::NotClaimed,
        "nothing runs without the Yes"
    );
    let device = DeviceId::new(Uuid::from_u128(9));
    let no = |reason: Option<&str>| Command::Approve {
        rtc,
        decision: ApprovalDecision::Reject,
        reason: reason.map(str::to_owned),
        device,
    };
    lane.tell(no(Some("not now")));
    assert_eq!(
        lane.output(rtc),
        "[Tool Rejected] script was rejected: the call was refused: not now"
    );
    assert_eq!(lane.rtc(rtc).status, RtcStatus::Rejected);
    assert!(
        matches!(lane.effects[..], [Effect::AskModel(_)]),
        "the turn goes on"
    );
    assert!(lane.try_tell(no(None)).is_err(), "the first answer stands");
}

#[test]
fn a_yes_for_the_session_covers_what_waits_and_what_comes() {
    let mut lane = Lane::new();
    lane.send("x");
    lane.tell(Command::SetMode(Mode::Manual));
    lane.begin();
    lane.reply("", vec![edit("c1"), edit("c2"), script("c3")]);
    let (rtc, device) = (lane.open(0), DeviceId::new(Uuid::from_u128(9)));
    let decision = ApprovalDecision::Session;
    lane.tell(Command::Approve {
        rtc,
        decision,
        reason: None,
        device,
    });
    let states: Vec<_> = lane
        .state
        .calls
        .iter()
        .map(|call| call.stored.entity.approval.as_ref().unwrap().state)
        .collect();
    assert_eq!(
        states,
        [
            ApprovalState::Approved,
            ApprovalState::Approved,
            ApprovalState::Open
        ]
    );
    assert!(lane.rules.is_empty(), "it is the session's, not the user's");
}

#[test]
fn never_is_a_rule_of_the_user_and_wins_over_bypass() {
    let mut lane = Lane::with_calls(vec![script("c1")]);
    let (rtc, device) = (lane.open(0), DeviceId::new(Uuid::from_u128(9)));
    lane.tell(Command::Approve {
        rtc,
        decision: ApprovalDecision::Never,
        reason: None,
        device,
    });
    assert_eq!(lane.rules.len(), 1);
    lane.tell(Command::SetMode(Mode::Bypass));
    lane.reply("", vec![script("c2")]);
    assert_eq!(lane.rtcs[&2].status, RtcStatus::Rejected);
    assert!(lane.state.calls.is_empty());
}

#[test]
fn what_has_become_stricter_since_the_call_was_made_counts() {
    let mut lane = Lane::with_calls(vec![edit("c1")]);
    let rtc = lane.open(0);
    lane.tell(Command::SetMode(Mode::Plan));
    assert_eq!(lane.claim(0, true).unwrap(), Done::NotClaimed);
    assert_eq!(lane.rtc(rtc).status, RtcStatus::Rejected);

    let mut lane = Lane::with_calls(vec![edit("c1")]);
    let rtc = lane.open(0);
    lane.tell(Command::SetMode(Mode::Manual));
    assert_eq!(lane.claim(0, true).unwrap(), Done::NotClaimed);
    assert_eq!(
        lane.effects,
        [Effect::Preview(rtc)],
        "nobody says Yes to what was not shown"
    );
    assert!(lane.rtc(rtc).approval.is_none());
    lane.tell(Command::AskFor {
        rtc,
        preview: Some(preview("/a")),
    });
    assert_eq!(
        lane.rtc(rtc).approval.as_ref().unwrap().state,
        ApprovalState::Open
    );
    assert_eq!(lane.rtc(rtc).preview, Some(preview("/a")));
}

#[test]
fn what_could_not_be_shown_is_shown_once_it_can_be() {
    let mut lane = Lane::with_calls(vec![edit("c1")]);
    let rtc = lane.open(0);
    lane.tell(Command::SetMode(Mode::Manual));
    lane.claim(0, true).unwrap();
    let reason = Preview {
        kind: PreviewKind::Text,
        text: "the folder is not there".into(),
        paths: Vec::new(),
        program: None,
    };
    let look = |lane: &mut Lane, preview: Preview| {
        lane.tell(Command::AskFor {
            rtc,
            preview: Some(preview),
        });
        lane.rtc(rtc).preview.clone().unwrap()
    };
    assert_eq!(look(&mut lane, reason.clone()), reason);
    assert_eq!(look(&mut lane, reason.clone()), reason);
    let seen = Preview {
        paths: Vec::new(),
        ..preview("/a")
    };
    assert_eq!(
        look(&mut lane, preview("/a")),
        seen,
        "a Yes covers what was named, as before"
    );
    // From now on the user has seen it.
    assert_eq!(look(&mut lane, preview("/b")), seen);
    assert_eq!(look(&mut lane, reason), seen);
}

/// What was planned in one mode and is decided in another is looked at first.
#[test]
fn nobody_is_asked_about_what_was_not_looked_at() {
    let unseen = |subject: Subject| {
        let plan = Plan::Run {
            kind: Kind::Device,
            parameters: json!({}),
            subject,
            preview: None,
            looked: false,
        };
        PlannedCall {
            tool_name: "script".into(),
            ..planned("c1", plan)
        }
    };
    let mut lane = Lane::with_calls(vec![unseen(Subject {
        digest: Some("d".into()),
        ..named_program()
    })]);
    let rtc = lane.open(0);
    assert!(lane.effects.contains(&Effect::Preview(rtc)), "{:?}", lane.effects);
    assert!(lane.rtc(rtc).approval.is_none());
    lane.tell(Command::AskFor {
        rtc,
        preview: Some(preview("/a")),
    });
    assert_eq!(
        lane.rtc(rtc).approval.as_ref().unwrap().state,
        ApprovalState::Open
    );
}

fn named_program() -> Subject {
    Subject {
        access: Access::Exec,
        ..Subject::write("/.rtc/scripts/a.ts")
    }
}

/// A program that is only named runs as it was looked at, whatever mode allowed it.

#[test]
fn a_named_program_is_looked_at_before_it_is_claimed() {
    for (shown, text) in [(true, "code"), (false, "What it would run cannot be shown.")] {
        let mut lane = Lane::new();
        lane.send("x");
        lane.tell(Command::SetMode(Mode::Bypass));
        lane.begin();
        let plan = Plan::Run {
            kind: Kind::Device,
            parameters: json!({}),
            subject: named_program(),
            preview: None,
            looked: false,
        };
        lane.reply("", vec![planned("c1", plan)]);
        let rtc = lane.open(0);
        assert!(lane.effects.contains(&Effect::Preview(rtc)), "{:?}", lane.effects);
        assert_eq!(lane.claim(0, true).unwrap(), Done::NotClaimed);
        assert_eq!(lane.effects, [Effect::Preview(rtc)]);
        let preview = shown.then(|| Preview {
            kind: PreviewKind::Code,
            text: "code".into(),
            ..preview("/.rtc/scripts/a.ts")
        });
        lane.tell(Command::AskFor { rtc, preview });
        assert_eq!(lane.effects, [Effect::WakeExecutor]);
        assert_eq!(lane.rtc(rtc).preview.as_ref().unwrap().text, text);
        assert_eq!(lane.claim(0, true).unwrap(), Done::Claimed);
    }
}

/// A mode that asks for nothing answers for nobody: in a stricter one the user is asked after all.
#[test]
fn what_a_mode_made_needless_is_asked_again_when_it_is_needed_again() {
    let mut lane = Lane::new();
    lane.send("x");
    lane.tell(Command::SetMode(Mode::Manual));
    lane.begin();
    lane.reply("", vec![edit("c1")]);
    let rtc = lane.open(0);
    let state = |lane: &Lane| lane.rtc(rtc).approval.as_ref().unwrap().state;
    assert_eq!(state(&lane), ApprovalState::Open);
    lane.tell(Command::SetMode(Mode::Bypass));
    assert_ne!(state(&lane), ApprovalState::Open);
    lane.tell(Command::SetMode(Mode::Manual));
    assert_eq!(lane.claim(0, true).unwrap(), Done::NotClaimed);
    assert_eq!(lane.effects, [Effect::Preview(rtc)]);
    lane.tell(Command::AskFor {
        rtc,
        preview: Some(preview("/a")),
    });
    assert_eq!(state(&lane), ApprovalState::Open);
}

/// A look that comes late changes nothing any more: not what a user sees or has said Yes to, and not which program runs.

#[test]
fn what_was_shown_stays_what_it_was() {
    let named = |digest: Option<&str>| {
        let plan = Plan::Run {
            kind: Kind::Device,
            parameters: json!({}),
            subject: Subject {
                digest: digest.map(Into::into),
                ..named_program()
            },
            preview: digest.map(program),
            looked: true,
        };
        planned("c1", plan)
    };
    fn program(digest: &str) -> Preview {
        Preview {
            kind: PreviewKind::Code,
            text: digest.into(),
            program: Some(rtc_types::Program {
                digest: digest.into(),
                params: json!({}),
            }),
            ..preview("/.rtc/scripts/a.ts")
        }
    }
    let shown = |lane: &Lane, rtc| lane.rtc(rtc).preview.as_ref().unwrap().text.clone();
    let late = |rtc| Command::AskFor {
        rtc,
        preview: Some(program("other")),
    };

    // Allowed when it was made, asked about later.
    let mut lane = Lane::new();
    lane.send("x");
    lane.tell(Command::SetMode(Mode::Bypass));
    lane.begin();
    lane.reply("", vec![named(Some("first"))]);
    let rtc = lane.open(0);
    lane.tell(Command::SetMode(Mode::Manual));
    lane.tell(late(rtc));
    assert_eq!(shown(&lane, rtc), "first");
    let device = DeviceId::new(Uuid::from_u128(9));
    lane.tell(Command::Approve {
        rtc,
        decision: ApprovalDecision::Session,
        reason: None,
        device,
    });
    let rules = lane.state.session.as_ref().unwrap().private.rules.clone();
    assert_eq!(rules[0].scope, rtc_types::RuleScope::Digest("first".into()));
    lane.tell(late(rtc));
    assert_eq!(shown(&lane, rtc), "first");
    assert_eq!(lane.claim(0, true).unwrap(), Done::Claimed);
}

/// A Yes to a saved script is one to what it was and what it was given.

#[test]
fn a_rule_for_a_named_program_is_made_for_what_was_shown() {
    let with = |id: &str, digest: &str| {
        let program = Some(rtc_types::Program {
            digest: digest.into(),
            params: json!({}),
        });
        let plan = Plan::Run {
            kind: Kind::Device,
            parameters: json!({}),
            subject: Subject {
                digest: Some(digest.into()),
                ..named_program()
            },
            preview: Some(Preview {
                program,
                ..preview("/.rtc/scripts/a.ts")
            }),
            looked: true,
        };
        planned(id, plan)
    };
    let mut lane = Lane::with_calls(vec![with("c1", "one"), with("c2", "one"), with("c3", "two")]);
    let (rtc, device) = (lane.open(0), DeviceId::new(Uuid::from_u128(9)));
    lane.tell(Command::Approve {
        rtc,
        decision: ApprovalDecision::Session,
        reason: None,
        device,
    });
    let states: Vec<_> = lane
        .state
        .calls
        .iter()
        .map(|call| call.stored.entity.approval.as_ref().unwrap().state)
        .collect();
    use ApprovalState::{Approved, Open};
    // Each names a protected path, for which a rule is never enough.
    assert_eq!(states, [Approved, Open, Open]);
    let rules = &lane.state.session.as_ref().unwrap().private.rules;
    assert_eq!(rules[0].scope, rtc_types::RuleScope::Digest("one".into()));
}

#[test]
fn a_yes_to_one_call_is_no_yes_to_where_another_really_leads() {
    let mut lane = Lane::new();
    lane.send("x");
    lane.tell(Command::SetMode(Mode::Manual));
    lane.begin();
    let through_link = Plan::Run {
        kind: Kind::Device,
        parameters: json!({}),
        subject: Subject::write("/link"),
        preview: Some(preview("/.git/hooks/post-checkout")),
        looked: true,
    };
    let link = PlannedCall {
        tool_name: "edit".into(),
        ..planned("c2", through_link)
    };
    lane.reply("", vec![edit("c1"), link]);
    let [first, second] = [lane.open(0), lane.open(1)];
    let device = DeviceId::new(Uuid::from_u128(9));
    let yes = |rtc, decision| Command::Approve {
        rtc,
        decision,
        reason: None,
        device,
    };
    lane.tell(yes(first, ApprovalDecision::Session));
    let open = lane.state.call(second).unwrap();
    assert_eq!(
        open.stored.entity.approval.as_ref().unwrap().state,
        ApprovalState::Open,
        "it is asked about itself"
    );
    assert_eq!(open.stored.consented(), None);
    lane.tell(yes(second, ApprovalDecision::Once));
    let paths = lane.state.call(second).unwrap().stored.consented().unwrap();
    assert_eq!(
        paths,
        ["/link", "/.git/hooks/post-checkout"],
        "that is what was shown"
    );
    // A looser mode makes an approval needless; it is no Yes either.
    let mut lane = Lane::with_calls(vec![script("c1")]);
    lane.tell(Command::SetMode(Mode::Bypass));
    assert_eq!(
        lane.state.calls[0].stored.entity.approval.as_ref().unwrap().state,
        ApprovalState::Approved
    );
    assert_eq!(lane.state.calls[0].stored.consented(), None);
}

#[test]
fn without_a_folder_an_answer_holds_for_the_session_only() {
    for decision in [ApprovalDecision::Project, ApprovalDecision::Never] {
        let mut lane = Lane::new();
        lane.project = None;
        lane.send("x");
        lane.tell(Command::SetMode(Mode::Manual));
        lane.begin();
        lane.reply("", vec![edit("c1")]);
        let (rtc, device) = (lane.open(0), DeviceId::new(Uuid::from_u128(9)));
        lane.tell(Command::Approve {
            rtc,
            decision,
            reason: None,
            device,
        });
        assert!(lane.rules.is_empty(), "{decision:?}");
        assert_eq!(
            lane.state.session.as_ref().unwrap().private.rules.len(),
            1,
            "{decision:?}"
        );
    }
}

/// It could not be prepared while the question was on its way.
#[test]
fn nobody_is_asked_about_a_call_that_has_ended() {
    let mut lane = Lane::with_calls(vec![script("a")]);
    let rtc = lane.open(0);
    lane.finish(rtc, 0, Err(ToolError::execution("the folder is gone")));
    let approval = lane.rtc(rtc).approval.as_ref().unwrap();
    assert_eq!(approval.state, ApprovalState::Withdrawn);
}
