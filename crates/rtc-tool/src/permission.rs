//! The permission decision: pure, made when a call is created and again for every path that is really opened.

use rtc_types::{ApprovalDecision, Mode, ProjectId, Rule, RuleEffect, RuleId, RuleScope, Timestamp};

use crate::{Access, Kind, Subject};

/// What the user has decided so far, for one session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// How much is asked.
    pub mode: Mode,
    /// Standing rules of the user for this project and for all.
    pub rules: Vec<Rule>,
    /// What was allowed for this session only.
    pub session_rules: Vec<Rule>,
}

/// Whether the user said Yes to the very call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent<'a> {
    /// Not asked.
    None,
    /// Yes, to these paths.
    Given(&'a [String]),
}

/// May it run?
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Yes.
    Allow,
    /// The user must say; why it is asked.
    Ask(String),
    /// No; why, for the model to read.
    Deny(String),
}

/// Decides on a call of a tool, or on a part of it.
///
/// Deny rules win over everything, then the mode `plan` over every effect. Protected paths ask in every mode but
/// `bypass`, whatever has been allowed before. Else the mode's row of the table, and for what it would ask, the rules.
pub fn decide(
    policy: &Policy,
    tool_name: &str,
    kind: Kind,
    subject: &Subject,
    consent: Consent<'_>,
) -> Verdict {
    if kind != Kind::Device {
        // What the user answers is a dialog of its own; what the engine does stays inside it.
        return Verdict::Allow;
    }
    if let Some(rule) = matching(policy, RuleEffect::Deny, tool_name, subject) {
        return Verdict::Deny(match &rule.scope {
            RuleScope::Paths(paths) => format!("the user forbade {tool_name} on {}", paths.join(", ")),
            RuleScope::Digest(_) => "the user forbade this script".to_owned(),
        });
    }
    if policy.mode == Mode::Plan && subject.access != Access::Read {
        return Verdict::Deny(
            "the session is in plan mode, in which nothing is changed: describe what you would do instead"
                .to_owned(),
        );
    }
    if policy.mode == Mode::Bypass {
        return Verdict::Allow;
    }
    let agreed = |path: &String| matches!(consent, Consent::Given(paths) if paths.contains(path));
    if let Some(path) = subject
        .paths
        .iter()
        .find(|path| is_protected(subject.access, path) && !agreed(path))
    {
        return Verdict::Ask(format!(
            "{path} is protected: it can hold secrets or make programs run"
        ));
    }
    let asks = match (subject.access, policy.mode) {
        (Access::Read, _) | (Access::Write, Mode::Edit | Mode::Auto) => false,
        (Access::Write | Access::Exec, _) => true,
    };
    let covered = subject.paths.iter().all(agreed) && matches!(consent, Consent::Given(_));
    if !asks || covered || matching(policy, RuleEffect::Allow, tool_name, subject).is_some() {
        return Verdict::Allow;
    }
    Verdict::Ask(match subject.access {
        Access::Exec => format!("a {tool_name} is run only with a Yes in mode {}", policy.mode),
        Access::Read | Access::Write => {
            format!("{tool_name} changes a file, which mode {} asks for", policy.mode)
        }
    })
}

/// An allow rule must cover every path of the subject, a deny rule only one. What a path will run when its turn comes is
/// not known, so that a program is allowed by its digest alone.
fn matching<'p>(
    policy: &'p Policy,
    effect: RuleEffect,
    tool_name: &str,
    subject: &Subject,
) -> Option<&'p Rule> {
    policy.rules.iter().chain(&policy.session_rules).find(|rule| {
        rule.effect == effect
            && rule.tool_name == tool_name
            && match &rule.scope {
                RuleScope::Digest(digest) => subject.digest.as_ref() == Some(digest),
                RuleScope::Paths(paths) => {
                    let covers = |path: &String| paths.iter().any(|root| is_beneath(path, root));
                    // On some file systems a path of another case is the same, and what is forbidden stays forbidden.
                    let may_be = |path: &String| {
                        let path = path.to_lowercase();
                        paths.iter().any(|root| is_beneath(&path, &root.to_lowercase()))
                    };
                    match effect {
                        RuleEffect::Allow => {
                            subject.access != Access::Exec
                                && !subject.paths.is_empty()
                                && subject.paths.iter().all(covers)
                        }
                        RuleEffect::Deny => subject.paths.iter().any(may_be),
                    }
                }
            }
    })
}

/// Whether a path is `root` or lies in it, letter by letter.
pub fn is_beneath(path: &str, root: &str) -> bool {
    match path.strip_prefix(root) {
        Some(rest) => rest.is_empty() || rest.starts_with('/') || root.ends_with('/'),
        None => false,
    }
}

/// The rule that an answer makes: `session` allows the tool on any path that is not protected, `project` on just these
/// paths, `never` forbids these paths. What has a digest is allowed by that alone, and a program without one not at all:
/// what it will be the next time was not shown. `once` and `reject` make no rule.
pub fn grant(
    decision: ApprovalDecision,
    id: RuleId,
    project_id: Option<ProjectId>,
    tool_name: &str,
    subject: &Subject,
    now: Timestamp,
) -> Option<Rule> {
    let exact = || match &subject.digest {
        Some(digest) => RuleScope::Digest(digest.clone()),
        None => RuleScope::Paths(subject.paths.clone()),
    };
    let (effect, scope) = match decision {
        ApprovalDecision::Once | ApprovalDecision::Reject => return None,
        ApprovalDecision::Session | ApprovalDecision::Project
            if subject.digest.is_none() && subject.access == Access::Exec =>
        {
            return None;
        }
        ApprovalDecision::Session if subject.digest.is_none() => {
            (RuleEffect::Allow, RuleScope::Paths(vec!["/".to_owned()]))
        }
        ApprovalDecision::Session | ApprovalDecision::Project => (RuleEffect::Allow, exact()),
        ApprovalDecision::Never if !subject.paths.is_empty() => {
            (RuleEffect::Deny, RuleScope::Paths(subject.paths.clone()))
        }
        ApprovalDecision::Never => (RuleEffect::Deny, exact()),
    };
    Some(Rule {
        id,
        project_id,
        effect,
        tool_name: tool_name.to_owned(),
        scope,
        created_at: now,
    })
}

/// Whether a path may hold a secret, or, for a change, make programs run.
pub fn is_protected(access: Access, path: &str) -> bool {
    // Case is folded: on some file systems `.GIT/config` is `.git/config`.
    let path = path.to_lowercase();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let Some(name) = parts.last() else { return false };
    let secret = name.starts_with(".env")
        || SECRET_NAMES.contains(name)
        || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
        || parts.iter().any(|part| SECRET_FOLDERS.contains(part));
    secret
        || (access != Access::Read
            && (parts.iter().any(|part| RUNNING_FOLDERS.contains(part)) || RUNNING_NAMES.contains(name)))
}

const SECRET_NAMES: &[&str] = &[
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".htpasswd",
    ".git-credentials",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "credentials.json",
];
const SECRET_ENDINGS: &[&str] = &[".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx"];
const SECRET_FOLDERS: &[&str] = &[".ssh", ".gnupg", ".aws"];
const RUNNING_FOLDERS: &[&str] = &[
    ".git",
    ".rtc",
    ".vscode",
    ".idea",
    ".husky",
    ".githooks",
    ".cargo",
];
const RUNNING_NAMES: &[&str] = &[
    ".gitmodules",
    ".gitconfig",
    ".gitattributes",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".pre-commit-config.yaml",
    ".mcp.json",
];

#[cfg(test)]
mod tests;
