//! The permission of each path that a running call really opens.

use std::sync::{PoisonError, RwLock};

use rtc_tool::{Access, Consent, Kind, Permit, Subject, ToolError, Verdict, decide, is_beneath};

use crate::Terms;

pub(crate) struct PathPermit {
    tool_name: String,
    kind: Kind,
    own_data: Option<String>,
    terms: RwLock<Terms>,
}

impl PathPermit {
    pub(crate) fn new(
        tool_name: impl Into<String>,
        kind: Kind,
        own_data: Option<String>,
        terms: Terms,
    ) -> Self {
        Self {
            tool_name: tool_name.into(),
            kind,
            own_data,
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
        // Case is folded: a file system that does so is not told apart.
        let own = self.own_data.as_deref().map(str::to_lowercase);
        if own.is_some_and(|own| is_beneath(&path.to_lowercase(), &own)) {
            return Err(ToolError::denied(format!(
                "{path} belongs to this program's own data, which no call may touch"
            )));
        }
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
            PathPermit::new("edit", Kind::Device, None, Terms { policy, consent })
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
    #[test]
    fn the_programs_own_data_is_nobodys_to_touch() {
        let policy = Policy {
            mode: Mode::Bypass,
            ..Policy::default()
        };
        let terms = Terms {
            policy,
            consent: Some(vec!["/home/.app/store/db".to_owned()]),
        };
        let permit = PathPermit::new("read", Kind::Device, Some("/home/.app".to_owned()), terms);
        for path in ["/home/.app", "/home/.app/store/db", "/home/.APP/identity.json"] {
            assert!(permit.check(Access::Read, path).is_err(), "{path}");
        }
        for path in ["/", "/home", "/home/.apple/x", "/home/x"] {
            assert!(permit.check(Access::Write, path).is_ok(), "{path}");
        }
        let refused = permit.check(Access::Write, "/home/.app/store/db").unwrap_err();
        insta::assert_snapshot!(refused, @"/home/.app/store/db belongs to this program's own data, which no call may touch");
    }
}
