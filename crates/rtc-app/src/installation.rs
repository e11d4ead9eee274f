//! Who an installation is, for what needs no engine.

use std::path::PathBuf;
use std::sync::Arc;

use rtc_types::{DeviceId, UserId};

use crate::{Error, SystemClock, Tokens, data};

/// The user, the device and the tokens of a data folder. The store stays closed: another process may have it open.
pub struct Installation {
    /// The user of this installation.
    pub user: UserId,
    /// This device.
    pub device: DeviceId,
    /// Its tokens.
    pub tokens: Tokens,
}

impl Installation {
    /// Looks into a data folder, the platform's by default. What is not there yet is made.
    pub async fn open(folder: Option<PathBuf>) -> Result<Self, Error> {
        let folder = data::folder(folder)?;
        let named = folder.clone();
        let opening = tokio::task::spawn_blocking(move || {
            data::is_used(&folder)?;
            data::make(&folder)?;
            let identity = data::identity(&folder)?;
            Ok(Self {
                user: identity.user_id,
                device: identity.device_id,
                tokens: Tokens::open(&folder, Arc::new(SystemClock))?,
            })
        });
        opening.await.map_err(|error| Error::Data {
            path: named,
            reason: error.to_string(),
        })?
    }
}
