//! What must hold of every client at the end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rtc_engine::{Engine, Keys, Offset};
use rtc_store::Store;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::run::SessionEnd;
use crate::scenario::Scenario;
use crate::user::USER;
use crate::world::World;

/// How often it is looked whether the clients have come to the end of the stream …
const LOOK: Duration = Duration::from_millis(100);
/// … and how many times at most. A client is slow for seconds.
const MOST_LOOKS: usize = 1_200;

/// Far more than a scenario makes.
const MOST_UPDATES: usize = 10_000;

/// Waits until every client stands at the end of the stream.
pub(crate) async fn caught_up(world: &World, engine: &Engine) -> Result<(), String> {
    for _ in 0..MOST_LOOKS {
        let end = engine.position().borrow().clone();
        let stands = |cursor: &Option<(u64, Arc<str>)>| {
            cursor
                .as_ref()
                .is_some_and(|(offset, epoch)| *offset == end.offset && *epoch == end.epoch)
        };
        let behind = world.with(|facts| facts.clients.iter().position(|kept| !stands(&kept.cursor)));
        if behind.is_none() || world.seen_wrong().is_some() {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
    let places = world.with(|facts| {
        let places = facts.clients.iter().map(|kept| kept.cursor.clone());
        places.collect::<Vec<_>>()
    });
    let end = engine.position().borrow().offset;
    Err(format!(
        "the stream ends at {end}, the clients do not come to it: {places:?}"
    ))
}

/// What each client keeps is what is stored, and it was told of each update of the stream, once and in order.
pub(crate) async fn check(
    world: &World,
    scenario: &Scenario,
    engine: &Engine,
    ends: &[SessionEnd],
) -> Result<(), String> {
    let stored = stored(engine, ends).await.map_err(|error| error.to_string())?;
    let stream = stream(world).await?;
    let clients = world.with(|facts| facts.clients.clone());
    for (number, (kept, plan)) in clients.iter().zip(&scenario.clients).enumerate() {
        let first = kept
            .told
            .first()
            .map_or(stream.len() as u64 + 1, |(offset, _)| *offset);
        let offsets = kept.told.iter().map(|(offset, _)| *offset);
        if !offsets.eq(first..=stream.len() as u64) {
            return Err(format!("client {number} was told of {:?}", kept.told));
        }
        for (offset, id) in &*kept.told {
            let is = &stream[usize::try_from(*offset).unwrap_or_default() - 1];
            // To a client that shows no approvals an update may be a gap.
            let is_same = id.as_ref().map_or(!plan.approvals, |id| id == is);
            if !is_same {
                return Err(format!(
                    "client {number}: update {offset} is {is}, it was told of {id:?}"
                ));
            }
        }
        let ids = stored.keys().chain(kept.entities.keys());
        for id in ids {
            let (is, has) = (stored.get(id), kept.entities.get(id).map(|entity| &**entity));
            if is != has {
                return Err(format!("client {number} has {has:?}, stored is {is:?}"));
            }
        }
    }
    Ok(())
}

/// Everything that clients see, by id.
async fn stored(
    engine: &Engine,
    ends: &[SessionEnd],
) -> Result<BTreeMap<Arc<str>, Value>, rtc_engine::Error> {
    fn value(entity: &impl Serialize) -> (Arc<str>, Value) {
        let value = serde_json::to_value(entity).unwrap_or_default();
        (value["id"].as_str().unwrap_or_default().into(), value)
    }
    let mut all = BTreeMap::new();
    for end in ends {
        let session = engine.session(end.id).await?;
        all.extend(session.iter().map(|stored| value(&stored.entity)));
        all.extend(end.turns.iter().map(|stored| value(&stored.entity)));
        all.extend(end.messages.iter().map(|(stored, _)| value(&stored.entity)));
        all.extend(end.calls.iter().map(|stored| value(&stored.entity)));
    }
    Ok(all)
}

/// The ids of the updates, from the first place on.
async fn stream(world: &World) -> Result<Vec<Arc<str>>, String> {
    #[derive(Deserialize)]
    struct Row {
        id: Arc<str>,
    }
    let topic = Keys::new(USER).topic();
    let rows = world.store.read_stream(&topic, Offset(0), MOST_UPDATES).await;
    let rows = rows.map_err(|error| error.to_string())?;
    rows.iter()
        .enumerate()
        .map(|(at, (offset, row))| {
            if offset.0 != at as u64 + 1 {
                return Err(format!("the stream has no update {}", at + 1));
            }
            let row = serde_json::from_slice::<Row>(row).map_err(|error| error.to_string())?;
            Ok(row.id)
        })
        .collect()
}
