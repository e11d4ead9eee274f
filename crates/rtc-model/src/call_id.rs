//! Ids of calls: unique within the conversation when they come in, of a form that the provider takes when they go out.

use std::borrow::Cow;
use std::collections::HashSet;

use bytes::Bytes;

use crate::{AssistantBlock, Item, Request};

/// The longest id that is kept as it is.
const MOST_KEPT: usize = 1024;

/// Gives the calls of one reply their ids. The same request and reply give the same ids.
pub(crate) struct CallIds {
    taken: HashSet<String>,
    /// What new ids are made from.
    body: Bytes,
    seed: Option<u64>,
    made: u32,
}

impl CallIds {
    /// Knows the ids of the conversation.
    pub(crate) fn of(request: &Request, body: Bytes) -> CallIds {
        let blocks = request.items.iter().flat_map(|item| match item {
            Item::Assistant { blocks } => blocks.as_slice(),
            Item::User { .. } | Item::ToolResult { .. } => &[],
        });
        let ids = blocks.filter_map(|block| match block {
            AssistantBlock::ToolCall { id, .. } => Some(id.clone()),
            _ => None,
        });
        CallIds {
            taken: ids.collect(),
            body,
            seed: None,
            made: 0,
        }
    }

    /// The model's id, or a new one where it gave none, or one that is taken.
    pub(crate) fn give(&mut self, wanted: &str) -> String {
        let mut id = wanted.to_owned();
        while id.is_empty() || id.len() > MOST_KEPT || self.taken.contains(&id) {
            let seed = *self.seed.get_or_insert_with(|| hash(&self.body));
            id = format!("call_{seed:016x}_{}", self.made);
            self.made += 1;
        }
        self.taken.insert(id.clone());
        id
    }
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// An id as a provider takes it: at most `longest` bytes, and only of letters, digits, `_` and `-` if it is `plain`.
/// The same id always becomes the same.
pub(crate) fn outgoing(id: &str, longest: usize, plain: bool) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !id.is_empty() && id.len() <= longest && (!plain || id.chars().all(fits)) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(format!("call_{:016x}", hash(id.as_bytes())))
}

/// A tool's name as every provider takes it: a name that a model made up must not make the next request invalid.
pub(crate) fn outgoing_name(name: &str) -> Cow<'_, str> {
    const LONGEST: usize = 64;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.len() <= LONGEST && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let name: String = name
        .chars()
        .take(LONGEST)
        .map(|c| if fits(c) { c } else { '_' })
        .collect();
    Cow::Owned(if name.is_empty() { "unnamed".into() } else { name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_kept_unless_it_is_missing_or_taken() {
        let request = Request {
            items: vec![Item::Assistant {
                blocks: vec![AssistantBlock::ToolCall {
                    id: "call_0".into(),
                    name: "read".into(),
                    arguments: String::new(),
                }],
            }],
            ..Request::default()
        };
        let mut ids = CallIds::of(&request, "body".into());
        let given: Vec<_> = ["a", "a", "", "call_0", "functions.read:0"]
            .iter()
            .map(|id| ids.give(id))
            .collect();
        assert_eq!(given[0], "a");
        assert_eq!(given[4], "functions.read:0");
        let distinct: HashSet<_> = given.iter().collect();
        assert_eq!(distinct.len(), given.len());
        assert!(given.iter().all(|id| id != "call_0" && id.len() <= 40));
        let mut again = CallIds::of(&request, "body".into());
        assert_eq!(again.give("a"), "a");
        assert_eq!(again.give("a"), given[1], "the same request gives the same ids");
        assert_ne!(CallIds::of(&request, "other".into()).give(""), given[1]);
    }

    #[test]
    fn what_goes_out_has_the_form_that_providers_take() {
        let long = "x".repeat(41);
        assert_eq!(outgoing("functions.read:0", 40, false), "functions.read:0");
        assert_ne!(outgoing("functions.read:0", 64, true), "functions.read:0");
        assert_eq!(outgoing(&long, 40, false).len(), 21);
        assert_eq!(outgoing_name("read"), "read");
        assert_eq!(outgoing_name("functions.read"), "functions_read");
        assert_eq!(outgoing_name(""), "unnamed");
        assert_eq!(outgoing_name(&"é".repeat(90)).len(), 64);
    }
}
