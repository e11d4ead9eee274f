//! The planner never claims to be what it is not.

use rtc_tests::{Workplace, assert_whole, text};

/// What the planner may say about language models: that it is none, and how to set one up.
const HONEST: [&str; 4] = [
    "no language model",
    "set up a language model",
    "不是语言模型",
    "请配置语言模型",
];

/// Words of something that speaks as a language model does.
const CLAIMS: [&str; 9] = [
    "language model",
    "语言模型",
    "as an ai",
    "i am an ai",
    "i'm an ai",
    "neural",
    "人工智能",
    "大模型",
    "i think",
];

/// The claim in an answer to be more than fixed rules, if there is one.
pub(crate) fn claim(answer: &str) -> Option<&'static str> {
    let mut rest = answer.to_lowercase();
    for honest in HONEST {
        rest = rest.replace(honest, "");
    }
    CLAIMS.into_iter().find(|claim| rest.contains(claim))
}

#[test]
fn a_claim_is_seen() {
    assert_eq!(claim("As a language model I know this."), Some("language model"));
    assert_eq!(claim("我是语言模型。"), Some("语言模型"));
    assert_eq!(claim("a set of fixed rules, no language model"), None);
}

#[test]
fn what_it_does_not_understand_gets_the_help_in_the_terminal() {
    for (request, first, examples) in [
        (
            "What is the weather like tomorrow?",
            "I did not understand",
            "- replace ",
        ),
        ("明天天气怎么样？", "我没有看懂", "- 把 "),
    ] {
        let place = Workplace::sample();
        let before = place.files();
        let output = place.run(request, &[]);
        let answer = text(&output.stdout);
        assert!(output.status.success(), "{answer}{}", text(&output.stderr));
        assert!(answer.starts_with(first), "{answer}");
        assert!(
            answer.contains(examples) && answer.contains("--model"),
            "{answer}"
        );
        assert_eq!(claim(&answer), None, "{answer}");
        assert_eq!(place.files(), before);
        assert_whole(&place.last_session());
    }
}
