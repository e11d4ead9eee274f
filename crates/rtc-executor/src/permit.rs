//! The permission of each path that a running call really opens.

use rtc_tool::{Access, Consent, Kind, Permit, Policy, Subject, ToolError, Verdict, decide};

pub(crate) struct PathPermit {
    pub(crate) policy: Policy,
    pub(crate) tool_name: String,
    pub(crate) kind: Kind,
    pub(crate) consent: Option<Vec<String>>,
}

impl Permit for PathPermit {
    fn check(&self, access: Access, path: &str) -> Result<(), ToolError> {
        let subject = Subject {
            access,
            paths: vec![path.to_owned()],
            digest: None,
        };
        let consent = self.consent.as_deref().map_or(Consent::None, Consent::Given);
        match decide(&self.policy, &self.tool_name, self.kind, &subject, consent) {
            Verdict::Allow => Ok(()),
            Verdict::Deny(why) => Err(ToolError::denied(why)),
            // In the middle of a run nothing asks.
            Verdict::Ask(why) => Err(ToolError::denied(format!(
                "{why}, and the user has not been asked about it; call {} with the path {path} itself, so that they are",
                self.tool_name
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use rtc_types::Mode;

    use super::*;

    #[test]
    fn a_path_reached_in_the_middle_of_a_run_is_refused_where_it_would_be_asked_for() {
        let permit = |consent: Option<&str>| PathPermit {
            policy: Policy {
                mode: Mode::Edit,
                ..Policy::default()
            },
            tool_name: "edit".into(),
            kind: Kind::Device,
            consent: consent.map(|path| vec![path.to_owned()]),
        };
        assert!(permit(None).check(Access::Write, "/src/a.rs").is_ok());
        let refused = permit(None).check(Access::Write, "/.git/config").unwrap_err();
        insta::assert_snapshot!(refused, @"/.git/config is protected: it can hold secrets or make programs run, and the user has not been asked about it; call edit with the path /.git/config itself, so that they are");
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
    }
}
