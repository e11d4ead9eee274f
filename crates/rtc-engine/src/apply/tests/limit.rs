//! The limit of replies in a turn.

use super::*;

#[test]
fn a_turn_ends_at_its_limit_of_replies_with_every_call_answered() {
    let mut lane = Lane::new();
    lane.send("x");
    lane.begin_with(Some(2));
    lane.reply(
        "",
        vec![planned("c1", Plan::Invalid(ToolError::invalid("no such tool")))],
    );
    assert_eq!(lane.effects, [Effect::AskModel(lane.turn())], "one more");
    lane.reply("I look.", vec![read("c2")]);
    lane.send("and this");
    let rtc = lane.open(0);
    lane.claim(0, false).unwrap();
    lane.finish(rtc, 1, Ok(json!("text")));
    assert_eq!(
        lane.effects,
        [Effect::GatherContext],
        "what waits begins the next turn"
    );
    let ended = &lane.turns[0];
    assert_eq!(ended.status, TurnStatus::Failed);
    let told = ended.error_message.clone().unwrap();
    insta::assert_snapshot!(told, @"the limit of replies in a turn (2) is reached, and the model is not done; what it did is kept, and the next message goes on from there");
    let errors: Vec<_> = lane
        .messages
        .values()
        .filter_map(|message| match message.content.parse() {
            Some(ContentData::Error(error)) => Some((error.category, error.message)),
            _ => None,
        })
        .collect();
    assert_eq!(errors, [(ErrorCategory::Budget, told)]);
    assert!(lane.rtcs.values().all(|rtc| rtc.status == RtcStatus::Completed));
    // The next turn has its own.
    lane.begin_with(Some(1));
    lane.reply("Done.", Vec::new());
    assert_eq!(
        lane.turns[1].status,
        TurnStatus::Completed,
        "the last reply may be the answer"
    );
    // A reply of calls that cannot run ends it, too.
    lane.send("y");
    lane.begin_with(Some(1));
    lane.reply(
        "",
        vec![planned("c3", Plan::Invalid(ToolError::invalid("no such tool")))],
    );
    assert_eq!(
        (lane.turns[2].status, lane.effects.as_slice()),
        (TurnStatus::Failed, &[][..])
    );
    assert!(lane.state.is_idle());
}
