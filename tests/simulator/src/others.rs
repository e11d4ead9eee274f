//! Who else would run the calls: windows of the device, which ask for the same run, and an executor of another device,
//! which has none of them.

use std::sync::Arc;
use std::time::Duration;

use rtc_app::EnginePort;
use rtc_engine::Engine;
use rtc_executor::{Executor, Places, Port};
use rtc_types::{DeviceId, SessionId};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::port::Turns;
use crate::user::DEVICE;
use crate::{Sabotage, tools};

/// The device that has no session.
const ELSEWHERE: DeviceId = DeviceId::new(Uuid::from_u128(5));

/// Whenever something has changed: two windows ask `executor` for the first open call of each session, and the other
/// device looks for calls of its own. Until it is dropped.
pub(crate) async fn would_run(
    engine: Engine,
    port: EnginePort,
    executor: Executor,
    places: Arc<dyn Places>,
    sabotage: Sabotage,
    sessions: impl Fn() -> Vec<SessionId>,
) {
    let runs_unclaimed = sabotage == Sabotage::RunsUnclaimed;
    let other = EnginePort::default();
    other.connect(&engine, if runs_unclaimed { DEVICE } else { ELSEWHERE });
    let other = crate::port::to(other, Turns::All, runs_unclaimed);
    let elsewhere = Executor::new(other, tools::of_executor().clone(), places, Duration::ZERO);
    let mut windows = JoinSet::new();
    let mut position = engine.position();
    loop {
        position.borrow_and_update();
        for session in sessions() {
            elsewhere.wake(session);
            // What cannot be read now is looked at again with the next change.
            if let Ok(Some(rtc)) = port.next(session).await {
                for _ in 0..2 {
                    let executor = executor.clone();
                    windows.spawn(async move { executor.run(rtc).await });
                }
            }
        }
        if position.changed().await.is_err() {
            return;
        }
    }
}
