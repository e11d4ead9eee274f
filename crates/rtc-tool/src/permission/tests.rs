use rtc_types::ApprovalDecision as D;

use super::*;

fn policy(mode: Mode) -> Policy {
    Policy {
        mode,
        ..Policy::default()
    }
}

fn script() -> Subject {
    Subject {
        access: Access::Exec,
        paths: Vec::new(),
        digest: Some("abc".into()),
    }
}

fn letter(verdict: Verdict) -> char {
    match verdict {
        Verdict::Allow => 'a',
        Verdict::Ask(_) => '?',
        Verdict::Deny(_) => 'd',
    }
}

fn rule(effect: RuleEffect, tool: &str, scope: RuleScope) -> Rule {
    Rule {
        id: RuleId::new(Default::default()),
        project_id: None,
        effect,
        tool_name: tool.into(),
        scope,
        created_at: Timestamp::UNIX_EPOCH,
    }
}

/// Modes in the order manual, edit, plan, auto, bypass.
#[test]
fn the_table_of_modes() {
    for (tool, subject, row) in [
        ("read", Subject::read("/src/a.rs"), "aaaaa"),
        ("edit", Subject::write("/src/a.rs"), "?adaa"),
        ("write", Subject::write("/new/file"), "?adaa"),
        ("script", script(), "??d?a"),
        ("read", Subject::read("/.env.local"), "????a"),
        ("read", Subject::read("/keys/server.PEM"), "????a"),
        ("read", Subject::read("/.git/config"), "aaaaa"),
        ("edit", Subject::write("/.git/config"), "??d?a"),
        ("edit", Subject::write("/sub/.GIT/hooks/pre-commit"), "??d?a"),
        ("write", Subject::write("/.rtc/scripts/a.ts"), "??d?a"),
        ("write", Subject::write("/.envrc"), "??d?a"),
    ] {
        let got: String = Mode::ALL
            .iter()
            .map(|&mode| letter(decide(&policy(mode), tool, Kind::Device, &subject, Consent::None)))
            .collect();
        assert_eq!(got, row, "{tool} {subject:?}");
    }
}

#[test]
fn a_question_to_the_user_is_never_asked_about() {
    for &mode in Mode::ALL {
        let subject = Subject {
            access: Access::Read,
            paths: Vec::new(),
            digest: None,
        };
        assert_eq!(
            decide(&policy(mode), "askUser", Kind::User, &subject, Consent::None),
            Verdict::Allow
        );
    }
}

#[test]
fn deny_wins_over_bypass_and_over_a_yes() {
    let mut policy = policy(Mode::Bypass);
    policy.rules.push(rule(
        RuleEffect::Allow,
        "edit",
        RuleScope::Paths(vec!["/".into()]),
    ));
    policy.session_rules.push(rule(
        RuleEffect::Deny,
        "edit",
        RuleScope::Paths(vec!["/secret".into()]),
    ));
    let paths = ["/secret/a".to_owned()];
    let verdict = decide(
        &policy,
        "edit",
        Kind::Device,
        &Subject::write("/secret/a"),
        Consent::Given(&paths),
    );
    assert_eq!(verdict, Verdict::Deny("the user forbade edit on /secret".into()));
    assert_eq!(
        decide(
            &policy,
            "edit",
            Kind::Device,
            &Subject::write("/open"),
            Consent::None
        ),
        Verdict::Allow
    );
}

#[test]
fn a_yes_covers_its_paths_and_nothing_else() {
    let paths = ["/a".to_owned(), "/.env".to_owned()];
    let yes = Consent::Given(&paths);
    for (path, wanted) in [("/a", 'a'), ("/.env", 'a'), ("/b", '?'), ("/.git/config", '?')] {
        let verdict = decide(
            &policy(Mode::Manual),
            "edit",
            Kind::Device,
            &Subject::write(path),
            yes,
        );
        assert_eq!(letter(verdict), wanted, "{path}");
    }
    // What has become stricter since counts.
    assert_eq!(
        letter(decide(
            &policy(Mode::Plan),
            "edit",
            Kind::Device,
            &Subject::write("/a"),
            yes
        )),
        'd'
    );
}

#[test]
fn an_answer_makes_the_rule_that_it_says() {
    let make = |decision, subject: &Subject| {
        grant(
            decision,
            RuleId::new(Default::default()),
            None,
            "edit",
            subject,
            Timestamp::UNIX_EPOCH,
        )
    };
    let subject = Subject::write("/a[1].rs");
    assert_eq!(make(D::Once, &subject), None);
    assert_eq!(make(D::Reject, &subject), None);
    for (decision, path, wanted) in [
        (D::Session, "/other/file", 'a'),
        (D::Session, "/.git/config", '?'),
        (D::Project, "/a[1].rs", 'a'),
        (D::Project, "/a1.rs", '?'),
        (D::Never, "/a[1].rs", 'd'),
    ] {
        let rules = vec![make(decision, &subject).unwrap()];
        let policy = Policy {
            mode: Mode::Manual,
            rules,
            session_rules: Vec::new(),
        };
        let verdict = decide(
            &policy,
            "edit",
            Kind::Device,
            &Subject::write(path),
            Consent::None,
        );
        assert_eq!(letter(verdict), wanted, "{decision:?} {path}");
    }
    let script_rule = make(D::Session, &script()).unwrap();
    assert_eq!(
        script_rule.scope,
        RuleScope::Digest("abc".into()),
        "a Yes to one script is no Yes to another"
    );
    let saved = Subject {
        access: Access::Exec,
        ..Subject::write("/.rtc/scripts/a.ts")
    };
    for decision in [D::Session, D::Project] {
        assert_eq!(
            make(decision, &saved),
            None,
            "what it will be the next time was not shown"
        );
    }
    let shown = Subject {
        digest: Some("abc".into()),
        ..saved.clone()
    };
    for decision in [D::Session, D::Project] {
        assert_eq!(
            make(decision, &shown).unwrap().scope,
            RuleScope::Digest("abc".into()),
            "a Yes to a script is none to its path, nor to what scripts change"
        );
    }
    for subject in [&saved, &shown] {
        assert_eq!(
            make(D::Never, subject).unwrap().scope,
            RuleScope::Paths(saved.paths.clone()),
            "whatever it is by then"
        );
    }
    let saving = Subject {
        digest: Some("abc".into()),
        ..Subject::write("/.rtc/scripts/a.ts")
    };
    assert_eq!(
        make(D::Session, &saving).unwrap().scope,
        RuleScope::Digest("abc".into()),
        "a Yes to keeping a script is none to what scripts change"
    );
}

#[test]
fn a_program_is_not_allowed_by_its_path_and_a_path_is_forbidden_in_any_case() {
    let of = |effect, path: &str| Policy {
        rules: vec![rule(effect, "script", RuleScope::Paths(vec![path.into()]))],
        ..policy(Mode::Manual)
    };
    let run = Subject {
        access: Access::Exec,
        ..Subject::write("/tools/a.ts")
    };
    let decided = |policy: &Policy, subject: &Subject| {
        letter(decide(policy, "script", Kind::Device, subject, Consent::None))
    };
    assert_eq!(decided(&of(RuleEffect::Allow, "/"), &run), '?');
    assert_eq!(decided(&of(RuleEffect::Deny, "/TOOLS"), &run), 'd');
    let write = Subject::write("/Tools/a.ts");
    assert_eq!(decided(&of(RuleEffect::Allow, "/tools"), &write), '?');
    assert_eq!(decided(&of(RuleEffect::Deny, "/tools"), &write), 'd');
}

#[test]
fn a_rule_covers_its_paths_to_the_letter_and_what_lies_in_them() {
    for (root, path, covered) in [
        ("/a", "/a", true),
        ("/a", "/a/b/c", true),
        ("/a", "/ab", false),
        ("/", "/anything", true),
        ("/.aws", "/.aws/credentials", true),
        ("/real,name.txt", "/real,name.txt", true),
        ("/a\\b.txt", "/a\\b.txt", true),
        ("/a*", "/ab", false),
    ] {
        let deny = Policy {
            rules: vec![rule(
                RuleEffect::Deny,
                "edit",
                RuleScope::Paths(vec![root.into()]),
            )],
            ..policy(Mode::Bypass)
        };
        let subject = Subject {
            paths: vec!["/other".into(), path.into()],
            ..Subject::write("/")
        };
        let verdict = decide(&deny, "edit", Kind::Device, &subject, Consent::None);
        assert_eq!(letter(verdict), if covered { 'd' } else { 'a' }, "{root} {path}");
    }
    let allow = Policy {
        rules: vec![rule(
            RuleEffect::Allow,
            "edit",
            RuleScope::Paths(vec!["/a".into()]),
        )],
        ..policy(Mode::Manual)
    };
    let both = Subject {
        paths: vec!["/a/x".into(), "/b".into()],
        ..Subject::write("/")
    };
    assert_eq!(
        letter(decide(&allow, "edit", Kind::Device, &both, Consent::None)),
        '?',
        "every path must be covered"
    );
}
