//! Which fragment belongs to which call, for servers that agree on little.

use serde_json::Value;

use super::request::EXTRA_CONTENT;

/// A call as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Call {
    index: Option<u64>,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
    /// What the provider wants back with the call.
    pub(super) extra: Option<Value>,
    /// The event in which its last fragment came.
    event: u64,
}

impl Call {
    fn is_whole(&self) -> bool {
        serde_json::from_str::<serde_json::Map<String, Value>>(&self.arguments).is_ok()
    }
}

/// The calls of a reply, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls {
    list: Vec<Call>,
    events: u64,
}

/// A fragment of a call, read as far as it can be.
struct Fragment<'f> {
    index: Option<u64>,
    id: &'f str,
    name: &'f str,
    arguments: Arguments<'f>,
}

enum Arguments<'f> {
    None,
    Text(&'f str),
    /// A server that sends them as what they mean sends them whole.
    Value(&'f Value),
}

impl<'f> Fragment<'f> {
    fn of(value: &'f Value) -> Self {
        let function = value.get("function").unwrap_or(value);
        let text = |value: &'f Value, name| value.get(name).and_then(Value::as_str).unwrap_or_default();
        Fragment {
            index: value.get("index").and_then(Value::as_u64),
            id: text(value, "id"),
            name: text(function, "name"),
            arguments: match function.get("arguments") {
                None | Some(Value::Null) => Arguments::None,
                Some(Value::String(text)) if text.is_empty() => Arguments::None,
                Some(Value::String(text)) => Arguments::Text(text),
                Some(value) => Arguments::Value(value),
            },
        }
    }

    fn brings_arguments(&self) -> bool {
        !matches!(self.arguments, Arguments::None)
    }
}

impl Calls {
    /// Takes the fragments of one event and gives the places of the calls that they belong to.
    pub(super) fn take(&mut self, fragments: &[Value]) -> Vec<usize> {
        self.events += 1;
        fragments.iter().map(|value| self.take_one(value)).collect()
    }

    /// The tool of a call, once it is known.
    pub(super) fn name(&self, at: usize) -> Option<&str> {
        let name = &self.list.get(at)?.name;
        (!name.is_empty()).then_some(name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn into_list(self) -> Vec<Call> {
        self.list
    }

    fn take_one(&mut self, value: &Value) -> usize {
        let fragment = Fragment::of(value);
        let at = self.place(&fragment).unwrap_or_else(|| {
            self.list.push(Call::default());
            self.list.len() - 1
        });
        let call = &mut self.list[at];
        call.event = self.events;
        call.index = call.index.or(fragment.index);
        if call.id.is_empty() {
            call.id = fragment.id.to_owned();
        }
        if call.name.is_empty() {
            call.name = fragment.name.to_owned();
        }
        match fragment.arguments {
            Arguments::None => {}
            Arguments::Text(text) => call.arguments.push_str(text),
            Arguments::Value(value) => call.arguments = value.to_string(),
        }
        if let Some(extra) = value.get(EXTRA_CONTENT).filter(|extra| !extra.is_null()) {
            call.extra = Some(extra.clone());
        }
        at
    }

    /// The call that a fragment continues, if it does not begin one. What begins a call has a name.
    fn place(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let same_index =
            |call: &Call| fragment.index.is_none() || call.index.is_none() || call.index == fragment.index;
        let by_id = || {
            let same_name =
                |call: &Call| fragment.name.is_empty() || call.name.is_empty() || call.name == fragment.name;
            let same = |call: &Call| call.id == fragment.id && same_index(call) && same_name(call);
            self.list
                .iter()
                .rposition(|call| !fragment.id.is_empty() && same(call))
        };
        let by_index = || {
            let index = fragment.index?;
            self.list.iter().rposition(|call| call.index == Some(index))
        };
        // Some servers give all calls one id. Nothing continues arguments that are whole.
        let continued = |at: &usize| !(fragment.brings_arguments() && self.list[*at].is_whole());
        if let Some(at) = by_id().filter(continued) {
            return Some(at);
        }
        if fragment.name.is_empty() {
            return by_index().or(self.list.len().checked_sub(1));
        }
        if !fragment.id.is_empty() {
            // A known index with another id is another call, unless the id only comes late.
            return by_index()
                .filter(|at| self.list[*at].id.is_empty() && !self.begins_another(*at, fragment));
        }
        let candidate = if fragment.index.is_some() {
            by_index()
        } else {
            self.list.len().checked_sub(1)
        };
        candidate.filter(|at| !self.begins_another(*at, fragment))
    }

    /// Whether a fragment with a name begins a call beside the one that it could continue: some servers repeat the
    /// name in every fragment, others tell calls apart by nothing else.
    fn begins_another(&self, at: usize, fragment: &Fragment<'_>) -> bool {
        let call = &self.list[at];
        call.event == self.events
            || (!call.name.is_empty() && call.name != fragment.name)
            || (fragment.brings_arguments() && call.is_whole())
            || matches!(fragment.arguments, Arguments::Value(_)) && !call.arguments.is_empty()
    }
}
