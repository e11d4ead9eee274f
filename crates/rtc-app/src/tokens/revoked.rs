//! The tokens that were taken back: a file beside the key with the id of one in each line. It only ever grows, so its
//! length tells whether there is something new.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::Path;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{Error, data};

/// The file within the data folder.
const REVOKED: &str = "revoked";

/// How long the file may become, in bytes: some 28,000 tokens. Beyond that a new key revokes them all.
const REVOKED_BYTES: u64 = 1 << 20;

/// How long after a token's end its connections are still remembered, in seconds: longer than they last.
const REMEMBERED: i64 = 120;

/// What is known of revoked tokens, and of those in use.
#[derive(Default)]
pub(super) struct Revoked {
    /// How long the file was when it was read.
    length: u64,
    ids: HashSet<Uuid>,
    /// What ends the connections of a token, and when the token ends by itself.
    in_use: HashMap<Uuid, (CancellationToken, i64)>,
}

impl Revoked {
    /// What is cancelled when this token is revoked; nothing if it is revoked already.
    pub(super) fn in_use(&mut self, id: Uuid, ends: i64, now: i64) -> Option<CancellationToken> {
        if self.ids.contains(&id) {
            return None;
        }
        self.in_use
            .retain(|_, (_, ends)| ends.saturating_add(REMEMBERED) > now);
        let (token, _) = self
            .in_use
            .entry(id)
            .or_insert_with(|| (CancellationToken::new(), ends));
        Some(token.clone())
    }

    /// Reads what was added to the file since, and ends what is in use of it.
    pub(super) fn look(&mut self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(REVOKED);
        let failed = |reason: String| Error::Data {
            path: path.clone(),
            reason,
        };
        let length = match std::fs::metadata(&path) {
            Ok(found) => found.len(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
            Err(error) => return Err(failed(error.to_string())),
        };
        if length == self.length {
            return Ok(());
        }
        if length > REVOKED_BYTES {
            return Err(failed(format!("{REVOKED} is longer than this program makes it")));
        }
        let text = std::fs::read(&path).map_err(|error| failed(error.to_string()))?;
        // A line that is not whole was never told as revoked.
        let ids = text
            .split(|byte| *byte == b'\n')
            .filter_map(|line| Uuid::try_parse_ascii(line).ok());
        for id in ids {
            self.revoke(id);
        }
        self.length = length;
        Ok(())
    }

    /// Adds a token to the file; done when that is durable.
    pub(super) fn add(&mut self, folder: &Path, id: Uuid) -> Result<(), Error> {
        self.look(folder)?;
        if self.ids.contains(&id) {
            return Ok(());
        }
        let path = folder.join(REVOKED);
        let full = self.length + 38 > REVOKED_BYTES;
        let failed = |reason: String| Error::Data {
            path: path.clone(),
            reason,
        };
        if full {
            return Err(failed(
                "no further token can be revoked; remove token.key, which revokes all".into(),
            ));
        }
        let write = || -> std::io::Result<()> {
            let mut file = data::for_its_owner().append(true).create(true).open(&path)?;
            // In one piece, on a line of its own whatever stands before.
            file.write_all(format!("\n{id}\n").as_bytes())?;
            file.sync_all()?;
            data::sync_folder(folder)
        };
        write().map_err(|error| failed(error.to_string()))?;
        self.revoke(id);
        Ok(())
    }

    fn revoke(&mut self, id: Uuid) {
        self.ids.insert(id);
        if let Some((connections, _)) = self.in_use.remove(&id) {
            connections.cancel();
        }
    }
}
