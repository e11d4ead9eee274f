//! The permission of each path that a running call really opens.

use std::sync::{PoisonError, RwLock};

use rtc_tool::{Access, Consent, Kind, Permit, Subject, ToolError, Verdict, decide};

use crate::Terms;

pub(crate) struct PathPermit {
    tool_name: String,
    kind: Kind,
    terms: RwLock<Terms>,
}

impl PathPermit {
    pub(crate) fn new(tool_name: impl Into<String>, kind: Kind, terms: Terms) -> Self {
        Self {
            tool_name: tool_name.into(),
            kind,
            terms: RwLock::new(terms),
        }
    }

    /// From now on these hold.
    pub(crate) fn set(&self, terms: Terms) {
        *self.terms.write().unwrap_or_else(PoisonError::into_inner) = terms;
    }
}

impl Permit for PathPermit {
    fn check(&self, access: Access, path: &str) -> Result<(), ToolError> {
        let subject = Subject {
            access,
            paths: vec![path.to_owned()],
            digest: None,
        };
        let terms = self.terms.read().unwrap_or_else(PoisonError::into_inner);
        let consent = terms.consent.as_deref().map_or(Consent::None, Consent::Given);
        match decide(&terms.policy, &self.tool_name, self.kind, &subject, consent) {
            Verdict::Allow => Ok(()),
            Verdict::Deny(why) => Err(ToolError::denied(why)),
            // In the middle of a run nothing asks.
            Verdict::Ask(why) => Err(ToolError::denied(format!(
                "{why}, and in the middle of a run the user is not asked; use {path} in a call of its own, so that they are"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use rtc_tool::Policy;
    use rtc_types::Mode;

    use super::*;

    #[test]
    fn a_path_reached_in_the_middle_of_a_run_is_refused_where_it_would_be_asked_for() {
        let permit = |consent: Option<&str>| {
            let policy = Policy {
                mode: Mode::Edit,
                ..Policy::default()
            };
            let consent = consent.map(|path| vec![path.to_owned()]);
            PathPermit::new("edit", Kind::Device, Terms { policy, consent })
        };
        assert!(permit(None).check(Access::Write, "/src/a.rs").is_ok());
        let refused = permit(None).check(Access::Write, "/.git/config").unwrap_err();
        insta::assert_snapshot!(refused, @"/.git/config is protected: it can hold secrets or make programs run, and in the middle of a run the user is not asked; use /.git/config in a call of its own, so that they are");
        assert!(
            permit(Some("/.git/config"))
                .check(Access::Write, "/.git/config")
                .is_ok()
        );
        assert!(
            permit(Some("/.git/config"))
                .check(Access::Write, "/.git/hooks/x")
                .is_err()
        );
        let changed = permit(None);
        changed.set(Terms {
            policy: Policy {
                mode: Mode::Plan,
                ..Policy::default()
            },
            consent: None,
        });
        assert!(
            changed.check(Access::Write, "/src/a.rs").is_err(),
            "what has become stricter counts"
        );
    }
}
