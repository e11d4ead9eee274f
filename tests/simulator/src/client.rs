//! Clients: each follows the user's stream over the product's own connection, through a network that breaks and is slow,
//! keeps what it was told by the rule that clients have, and may answer for the user.
//!
//! What is told on one connection is looked at as it comes: each place of the stream once and in order, a recovery
//! whole, only what belongs on a channel, nothing that is not for this client. Then it reaches what the client keeps as
//! it does where a channel, replies and history meet: twice now and then, and out of order.

mod act;
mod answer;
mod end;
mod kept;
mod services;
mod talk;

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use rtc_realtime::{Connection, Services, memory_socket};
use tokio::task::JoinSet;

pub(crate) use end::{caught_up, check};
pub(crate) use kept::Kept;
pub(crate) use services::services;

use crate::scenario::{Begins, ClientPlan, Scenario};
use crate::world::World;
use talk::Talk;

/// How many connections of a troubled client break in one life of the product, at most. Later ones last.
const BREAKS: u32 = 3;

/// A client in one life of the product.
pub(crate) struct Client {
    world: Arc<World>,
    scenario: Arc<Scenario>,
    number: usize,
    plan: ClientPlan,
    services: Services,
    rng: Rng,
}

impl Client {
    pub(crate) fn new(
        world: &Arc<World>,
        scenario: &Arc<Scenario>,
        number: usize,
        services: Services,
    ) -> Self {
        let plan = scenario.clients[number].clone();
        let life = world.with(|facts| facts.lives);
        let rng = Rng::with_seed(plan.seed ^ u64::from(life));
        Self {
            world: world.clone(),
            scenario: scenario.clone(),
            number,
            plan,
            services,
            rng,
        }
    }

    /// Follows the stream, over one connection after the other.
    pub(crate) async fn follow(mut self) {
        if self.plan.begins == Begins::Late {
            tokio::time::sleep(Duration::from_millis(self.rng.u64(..3_000))).await;
        }
        let breaks = if self.plan.troubled {
            self.rng.u32(..=BREAKS)
        } else {
            0
        };
        for connection in 0.. {
            let lines = (connection < breaks).then(|| self.rng.usize(1..12));
            let (socket, peer) = memory_socket(self.rng.usize(1..=4));
            // A set, because it ends its task when it is dropped.
            let mut server = JoinSet::new();
            server.spawn(Connection::run(socket, self.services.clone()));
            if let Err(wrong) = Talk::new(&mut self, peer, lines).listen().await {
                return self.world.wrong(format!("client {}: {wrong}", self.number));
            }
            drop(server);
            tokio::time::sleep(Duration::from_millis(self.rng.u64(..1_500))).await;
        }
    }

    fn kept<T>(&self, look: impl FnOnce(&mut Kept) -> T) -> T {
        self.world.with(|facts| look(&mut facts.clients[self.number]))
    }
}
