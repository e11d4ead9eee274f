//! Tokens: JWTs that say who connects and what they may do, signed with a key that stays in the data folder.

#![allow(clippy::disallowed_methods, reason = "the data folder is the app's own")]

mod revoked;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use rtc_realtime::{Authenticate, Claims, Denied, Scope, Scopes};
use rtc_types::{Clock, DeviceId, UserId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Error, data};
use revoked::Revoked;

/// The file of the key within the data folder.
const KEY: &str = "token.key";

/// How long the key is, in bytes.
const KEY_BYTES: usize = 32;

/// The longest token that is looked at, in bytes.
pub const TOKEN_BYTES: usize = 2048;

/// The longest time for which a token is made.
pub const TOKEN_TIME: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// How often it is looked whether another process revoked a token that is in use.
const REVOKED_INTERVAL: Duration = Duration::from_secs(1);

/// The one algorithm; a token that names another is none of ours.
const ALGORITHM: &str = "HS256";

/// What a token is good for. One of one kind is never taken for one of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To connect.
    Connection,
    /// The cookie of a browser that has signed in: to get tokens to connect with.
    Page,
}

#[derive(Serialize, Deserialize)]
struct Header {
    alg: String,
    typ: String,
}

/// The payload of a token. Times are seconds since 1970.
#[derive(Serialize, Deserialize)]
struct Payload {
    sub: UserId,
    device: DeviceId,
    scopes: Vec<String>,
    aud: Purpose,
    iat: i64,
    exp: i64,
    jti: Uuid,
}

/// What a valid token says, and its id.
#[derive(Debug, Clone)]
pub struct Known {
    /// Names the token, for revoking it.
    pub id: Uuid,
    /// Who it is and what it allows.
    pub claims: Claims,
}

/// Makes tokens and knows them again. Cheap to clone.
#[derive(Clone)]
pub struct Tokens(Arc<Inner>);

struct Inner {
    key: hmac::Key,
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    revoked: Mutex<Revoked>,
}

impl Tokens {
    /// The tokens of a data folder. Its key is made if there is none yet. Blocks.
    pub(crate) fn open(folder: &Path, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let path = folder.join(KEY);
        let mut fresh = [0; KEY_BYTES];
        SystemRandom::new()
            .fill(&mut fresh)
            .map_err(|_| Error::NoRandom)?;
        let key = data::made_once(folder, KEY, &fresh).map_err(|error| Error::Data {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        if key.len() != KEY_BYTES {
            return Err(Error::Key { path });
        }
        let mut revoked = Revoked::default();
        revoked.look(folder)?;
        Ok(Self(Arc::new(Inner {
            key: hmac::Key::new(hmac::HMAC_SHA256, &key),
            folder: folder.to_owned(),
            clock,
            revoked: Mutex::new(revoked),
        })))
    }

    /// A token to connect with, valid for `time`, but for at most [`TOKEN_TIME`].
    pub fn make(&self, user: UserId, device: DeviceId, scopes: Scopes, time: Duration) -> String {
        self.make_for(Purpose::Connection, user, device, scopes, time)
    }

    /// The same for another purpose.
    pub fn make_for(
        &self,
        purpose: Purpose,
        user: UserId,
        device: DeviceId,
        scopes: Scopes,
        time: Duration,
    ) -> String {
        let now = self.0.clock.now().as_second();
        let time = i64::try_from(time.min(TOKEN_TIME).as_secs()).unwrap_or(0);
        let header = Header {
            alg: ALGORITHM.to_owned(),
            typ: "JWT".to_owned(),
        };
        let payload = Payload {
            sub: user,
            device,
            scopes: scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
            aud: purpose,
            iat: now,
            exp: now + time,
            jti: Uuid::new_v4(),
        };
        let signed = format!("{}.{}", encoded(&header), encoded(&payload));
        let signature = hmac::sign(&self.0.key, signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// What a token for this purpose says. Looks for what other processes revoked, and so blocks for a moment.
    pub fn check(&self, token: &str, purpose: Purpose) -> Result<Known, Denied> {
        let payload = self.payload(token)?;
        if payload.aud != purpose {
            return Err(Denied::Invalid);
        }
        let now = self.0.clock.now().as_second();
        if payload.exp <= now {
            return Err(Denied::Expired);
        }
        let scopes = payload.scopes.iter().filter_map(|name| {
            // A scope of a later version is one that this version cannot give.
            Scope::ALL.iter().copied().find(|scope| scope.as_str() == name)
        });
        let scopes = scopes.collect();
        let mut revoked = self.0.revoked.lock().unwrap_or_else(PoisonError::into_inner);
        revoked.look(&self.0.folder).map_err(|error| {
            // Whether it was revoked is not known, so it does not let anybody in.
            tracing::error!(%error, "the list of revoked tokens cannot be read");
            Denied::Invalid
        })?;
        let revoked = revoked
            .in_use(payload.jti, payload.exp, now)
            .ok_or(Denied::Revoked)?;
        Ok(Known {
            id: payload.jti,
            claims: Claims {
                user: payload.sub,
                device: payload.device,
                scopes,
                expires_in: Some(Duration::from_secs(payload.exp.abs_diff(now))),
                revoked,
            },
        })
    }

    /// Takes a token back for ever: it lets nobody in any more, and its connections end, within a second those of
    /// another process. Returns once that is durable. An expired one can be revoked as well, and again.
    pub async fn revoke(&self, token: &str) -> Result<(), Error> {
        let id = self.payload(token).map_err(Error::Token)?.jti;
        let inner = self.0.clone();
        let revoking = tokio::task::spawn_blocking(move || {
            let mut revoked = inner.revoked.lock().unwrap_or_else(PoisonError::into_inner);
            revoked.add(&inner.folder, id)
        });
        revoking.await.map_err(|error| Error::Data {
            path: self.0.folder.clone(),
            reason: error.to_string(),
        })?
    }

    /// Ends the connections of tokens that other processes revoke. Never returns.
    pub async fn watch(&self) {
        loop {
            tokio::time::sleep(REVOKED_INTERVAL).await;
            let inner = self.0.clone();
            let looking = tokio::task::spawn_blocking(move || {
                let mut revoked = inner.revoked.lock().unwrap_or_else(PoisonError::into_inner);
                revoked.look(&inner.folder)
            });
            if let Ok(Err(error)) = looking.await {
                tracing::error!(%error, "the list of revoked tokens cannot be read");
            }
        }
    }

    /// What a token with our signature says, whether it is still valid or not.
    fn payload(&self, token: &str) -> Result<Payload, Denied> {
        self.signed(token).ok_or(Denied::Invalid)
    }

    fn signed(&self, token: &str) -> Option<Payload> {
        if token.len() > TOKEN_BYTES {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        // Takes the same time wherever the first difference is.
        hmac::verify(&self.0.key, signed.as_bytes(), &signature).ok()?;
        let (header, payload) = signed.split_once('.')?;
        let header: Header = decoded(header)?;
        if header.alg != ALGORITHM {
            return None;
        }
        decoded(payload)
    }
}

#[async_trait]
impl Authenticate for Tokens {
    async fn authenticate(&self, token: &str) -> Result<Claims, Denied> {
        let (tokens, token) = (self.clone(), token.to_owned());
        let checking = tokio::task::spawn_blocking(move || tokens.check(&token, Purpose::Connection));
        let known = checking.await.map_err(|error| {
            tracing::error!(%error, "a token could not be checked");
            Denied::Invalid
        })??;
        Ok(known.claims)
    }
}

fn encoded(part: &impl Serialize) -> String {
    let json = serde_json::to_vec(part).expect("a part of a token has text keys and goes to memory");
    URL_SAFE_NO_PAD.encode(json)
}

fn decoded<T: serde::de::DeserializeOwned>(part: &str) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}
