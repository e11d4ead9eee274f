//! What a client keeps, and the rule by which it changes: entities and cursor together, each update once and in order.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::scenario::{Begins, ClientPlan};

/// Survives the client and the product. An image of it is cheap.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    /// Its place in the stream, and in which life of it; nothing before it has loaded.
    pub(crate) cursor: Option<(u64, Arc<str>)>,
    /// By id.
    pub(crate) entities: Arc<BTreeMap<Arc<str>, Arc<Value>>>,
    /// What it was told since it has loaded: the place and the id of each update, none where it was told of a gap.
    pub(crate) told: Arc<Vec<(u64, Option<Arc<str>>)>>,
}

/// What came of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It is kept.
    Kept,
    /// It was known.
    Known,
    /// Something before it is missing.
    Early,
}

impl Kept {
    /// What a client has at first.
    pub(crate) fn first(plan: &ClientPlan) -> Self {
        match plan.begins {
            Begins::Empty | Begins::Late => Self::default(),
            Begins::Foreign => Self {
                cursor: Some((3, "another".into())),
                entities: Arc::new(BTreeMap::from([("nothing".into(), Arc::new(Value::Null))])),
                told: Arc::default(),
            },
        }
    }

    /// Takes an update if it is the next one: what it tells, and the place, at once.
    pub(crate) fn take(&mut self, offset: u64, update: &Value) -> Result<Taken, String> {
        let Some((cursor, _)) = &mut self.cursor else {
            return Err("an update is taken before there is a place in the stream".to_owned());
        };
        if offset <= *cursor {
            return Ok(Taken::Known);
        }
        if offset > *cursor + 1 {
            return Ok(Taken::Early);
        }
        *cursor = offset;
        let id = update.get("id").and_then(Value::as_str);
        self.keep_all(update)?;
        Arc::make_mut(&mut self.told).push((offset, id.map(Into::into)));
        Ok(Taken::Kept)
    }

    /// Takes what an update tells of.
    pub(crate) fn keep_all(&mut self, update: &Value) -> Result<(), String> {
        for (_, id, entity) in items(update) {
            keep(Arc::make_mut(&mut self.entities), id, entity.clone())?;
        }
        Ok(())
    }

    /// Begins anew with what was loaded.
    pub(crate) fn load(&mut self, cursor: (u64, Arc<str>), entities: BTreeMap<Arc<str>, Arc<Value>>) {
        *self = Self {
            cursor: Some(cursor),
            entities: Arc::new(entities),
            told: Arc::default(),
        };
    }
}

/// What an update tells of: the item, the entity's id, and the entity.
pub(crate) fn items(update: &Value) -> impl Iterator<Item = (&Value, &str, &Value)> {
    let list = |name: &str| update.get(name).and_then(Value::as_array).into_iter().flatten();
    list("items").zip(list("data_list")).map(|(item, entity)| {
        let id = item["entity_id"].as_str().unwrap_or_default();
        (item, id, entity)
    })
}

/// Whether an entity is a call, a message or a turn that never changes again.
pub(crate) fn is_over(entity: &Value) -> bool {
    let is = |field: &str, open: &[&str]| entity[field].as_str().is_some_and(|state| !open.contains(&state));
    if entity.get("streaming_status").is_some() {
        return is("streaming_status", &["pending", "streaming"]);
    }
    // Sessions have no end.
    let has_end = entity.get("completed_at").is_some();
    has_end
        && is(
            "status",
            &["pending", "sent", "executing", "running", "interrupted"],
        )
}

/// Whether a call waits for a Yes.
pub(crate) fn waits_for_a_yes(entity: &Value) -> bool {
    entity["approval"]["state"] == "open"
}

/// What is over stays over: an update may have been read before one that is in its place before it.
fn keep(entities: &mut BTreeMap<Arc<str>, Arc<Value>>, id: &str, entity: Value) -> Result<(), String> {
    if entity["id"] != id {
        return Err(format!("an update tells of {id} and carries {entity}"));
    }
    match entities.get_mut(id) {
        Some(before) if is_over(before) && !is_over(&entity) => {}
        Some(before) => *before = Arc::new(entity),
        None => _ = entities.insert(id.into(), Arc::new(entity)),
    }
    Ok(())
}
