//! What the product's connections need, around one engine.

use std::sync::Arc;

use async_trait::async_trait;
use rtc_engine::{Defaults, Engine};
use rtc_realtime::{Authenticate, Caller, Claims, Denied, Rpc, Scopes, Services, Source, Sources};
use rtc_types::{Code, DeviceId, UserId};
use rtc_wire::rpc::{Request, RpcError};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::clock::WorldClock;
use crate::user::{DEVICE, USER};
use crate::world::World;

/// The token of the client that is on the device of the sessions; every other one is on another device.
pub(super) const HERE: &str = "here";

struct Program(Engine);

/// Everything that a connection needs.
pub(crate) fn services(world: &Arc<World>, engine: &Engine) -> Services {
    let program = Arc::new(Program(engine.clone()));
    Services {
        authenticate: program.clone(),
        sources: program.clone(),
        rpc: program,
        clock: Arc::new(WorldClock(world.clone())),
        version: "simulated".into(),
        capabilities: Arc::default(),
        shutdown: CancellationToken::new(),
    }
}

#[async_trait]
impl Authenticate for Program {
    async fn authenticate(&self, token: &str) -> Result<Claims, Denied> {
        Ok(Claims {
            user: USER,
            device: if token == HERE {
                DEVICE
            } else {
                DeviceId::new(Uuid::from_u128(3))
            },
            scopes: Scopes::all(),
            expires_in: None,
            revoked: CancellationToken::new(),
        })
    }
}

#[async_trait]
impl Sources for Program {
    async fn source(&self, _: UserId) -> Option<Arc<dyn Source>> {
        Some(Arc::new(self.0.clone()))
    }
}

#[async_trait]
impl Rpc for Program {
    async fn call(&self, caller: &Caller, method: &str, data: Value) -> Result<Value, RpcError> {
        let request = Request::parse(method, data)?;
        let answer = self.0.call(caller, request, Defaults::default()).await;
        answer.unwrap_or_else(|| Err(RpcError::new(Code::MethodNotFound, "no method of the engine")))
    }
}
