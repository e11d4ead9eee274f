//! Lanes, executor, store, model and user on one thread in virtual time, killed at every effect, restarted, and compared
//! with the run that nobody killed.
//!
//! A [`Scenario`] is data, made from a seed. Engine, lanes, executor and the port between them are the product's own; the
//! store is its memory store, and disk, model, clock and user are here ([`world`](crate::world)). Everything durable or
//! visible from outside is an effect: the reference run takes an image of the world after each. [`explore`] starts the
//! product again on every image, lets it come to an end, and judges that; some of those runs are killed once more.
//! In some scenarios clients follow the user's stream over the product's own connection ([`client`](crate::client)), and one
//! may answer for the user.
//! What fails is made smaller while it fails, and told with its seed.

mod client;
mod clock;
mod explore;
mod judge;
mod model;
mod others;
mod points;
mod port;
mod run;
mod scenario;
mod shrink;
mod store;
mod tools;
mod user;
mod world;

pub use explore::{Failure, effects, explore};
pub use scenario::{
    Begins, Broken, Call, ClientPlan, CopyPlan, Folders, Jump, Message, Round, Scenario, SessionPlan, Tool,
    When,
};
pub use shrink::shrink;
pub use world::Sabotage;
