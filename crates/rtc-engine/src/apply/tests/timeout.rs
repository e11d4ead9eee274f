use super::*;

/// What a tool had until its deadline is all that is known of it.
#[test]
fn a_call_that_took_too_long_says_so_and_what_it_may_have_done() {
    let late = || ToolError::new(ErrorKind::Timeout, "it took longer than 100 ms");
    let mut lane = Lane::with_calls(vec![read("a"), edit("b")]);
    let [first, second] = [lane.open(0), lane.open(1)];
    lane.claim(0, false).unwrap();
    lane.finish(first, 1, Err(late()));
    assert_eq!(
        (lane.rtc(first).status, lane.rtc(first).effect),
        (RtcStatus::Timeout, None)
    );
    lane.claim(0, true).unwrap();
    lane.finish(second, 1, Err(late()));
    assert_eq!(
        (lane.rtc(second).status, lane.rtc(second).effect),
        (RtcStatus::Timeout, Some(Changed::Unknown))
    );
    insta::assert_snapshot!(lane.output(first), @"[Tool Timeout] read timed out: it took longer than 100 ms");
    insta::assert_snapshot!(lane.output(second), @"[Tool Timeout] edit timed out: it took longer than 100 ms; whether it took effect is not known, look before you repeat it");
    assert!(
        matches!(lane.effects[..], [Effect::AskModel(_)]),
        "the turn goes on once: {:?}",
        lane.effects
    );
}

/// What was only prepared has no effect, and the model is not told to look for one.
#[test]
fn a_call_that_took_too_long_to_prepare_changed_nothing() {
    let mut lane = Lane::with_calls(vec![edit("a")]);
    let rtc = lane.open(0);
    lane.finish(
        rtc,
        0,
        Err(ToolError::new(
            ErrorKind::Timeout,
            "it took longer than 120000 ms",
        )),
    );
    assert_eq!(
        (lane.rtc(rtc).status, lane.rtc(rtc).effect),
        (RtcStatus::Timeout, None)
    );
    insta::assert_snapshot!(lane.output(rtc), @"[Tool Timeout] edit timed out: it took longer than 120000 ms");
}
