//! Which changes of a session were undone, and what was redone.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use rtc_types::{RtcId, SessionId, Timestamp};
use serde::{Deserialize, Serialize};

use super::folder::{PreImageFolder, failed, sync_folder, write_synced};
use crate::{Error, VPath};

/// Undos of a session that are known; of older ones it is forgotten.
pub const MAX_UNDOS: usize = 1000;

/// Version of the file.
const VERSION: u32 = 1;

/// One undo, or one redo: the undo of an undo. What it replaced is kept as pre-images under its own id, one for each path
/// that it has put back by now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    /// Its id.
    pub id: RtcId,
    /// When it began.
    pub at: Timestamp,
    /// The undo that it takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redoes: Option<RtcId>,
    /// What it is to put back.
    pub parts: Vec<UndoPart>,
    /// Whether it came to its end; one that did not was cut short.
    pub ended: bool,
}

/// What an undo puts back at one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoPart {
    /// The path.
    pub path: VPath,
    /// The calls whose changes of it are put back.
    pub calls: Vec<RtcId>,
    /// The hunks of the only call's diff that are put back; none: all of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hunks: Vec<u32>,
    /// It was as it was before already: there was nothing to do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub as_it_was: bool,
}

#[derive(Serialize, Deserialize)]
struct File {
    version: u32,
    undos: Vec<Undo>,
}

impl PreImageFolder {
    /// The undos of a session, the first one first.
    ///
    /// # Errors
    /// [`Error::Io`], and [`Error::DamagedPreImage`] if the list is not what was kept.
    pub fn undos(&self, session: SessionId) -> Result<Vec<Undo>, Error> {
        let path = self.undos_file(session);
        let file = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            file => file.map_err(|source| failed(&path, source))?,
        };
        let damaged = |reason| Error::DamagedPreImage {
            name: format!("list of undos of {session}"),
            reason,
        };
        let file: File = serde_json::from_slice(&file).map_err(|error| damaged(error.to_string()))?;
        if file.version != VERSION {
            return Err(damaged(format!(
                "its version is {}, known is {VERSION}",
                file.version
            )));
        }
        Ok(file.undos)
    }

    /// Keeps that an undo begins or, with the id of one that is known, what became of it. It is durable when this returns.
    ///
    /// # Errors
    /// As [`PreImageFolder::undos`].
    pub fn keep_undo(&self, session: SessionId, undo: Undo) -> Result<(), Error> {
        let mut undos = self.undos(session)?;
        match undos.iter_mut().find(|known| known.id == undo.id) {
            Some(known) => *known = undo,
            None => undos.push(undo),
        }
        let too_many = undos.len().saturating_sub(MAX_UNDOS);
        undos.drain(..too_many);
        let path = self.undos_file(session);
        let keep = || -> io::Result<()> {
            let version = VERSION;
            let unfinished = path.with_extension("undos.new");
            write_synced(&unfinished, &serde_json::to_vec(&File { version, undos })?)?;
            fs::rename(&unfinished, &path)?;
            sync_folder(&self.folder)
        };
        keep().map_err(|source| failed(&path, source))
    }

    /// The paths that an undo has put back, or begun to: those of which it has kept something.
    ///
    /// # Errors
    /// As [`PreImageFolder::about`].
    pub fn put_back(&self, undo: RtcId) -> Result<BTreeSet<VPath>, Error> {
        let numbers = self.list(undo)?.into_iter();
        numbers
            .map(|number| self.about(undo, number).map(|about| about.path))
            .collect()
    }

    /// The sessions with an undo that did not come to its end. A list that cannot be read is left out.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn with_undos_cut_short(&self) -> Result<Vec<SessionId>, Error> {
        let sessions = || -> io::Result<Vec<SessionId>> {
            let mut sessions = Vec::new();
            for entry in fs::read_dir(&self.folder)? {
                let name = entry?.file_name();
                let session = name
                    .to_str()
                    .and_then(|name| name.strip_suffix(".undos")?.parse::<SessionId>().ok());
                sessions.extend(session);
            }
            Ok(sessions)
        };
        let mut sessions = sessions().map_err(|source| failed(&self.folder, source))?;
        sessions.retain(|session| {
            let undos = self.undos(*session);
            undos.is_ok_and(|undos| undos.iter().any(|undo| !undo.ended))
        });
        Ok(sessions)
    }

    pub(super) fn undos_file(&self, session: SessionId) -> std::path::PathBuf {
        self.folder.join(format!("{session}.undos"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preimage::tests::{id, image};

    #[test]
    fn undos_are_listed_in_their_order_and_say_how_far_they_came() {
        let data = tempfile::tempdir().unwrap();
        let kept = PreImageFolder::open(data.path()).unwrap();
        let session = SessionId::new(uuid::Uuid::from_u128(7));
        let undo = |number, ended| Undo {
            id: id(number),
            at: Timestamp::from_millisecond(5).unwrap(),
            redoes: (number == 3).then(|| id(2)),
            parts: vec![UndoPart {
                path: VPath::parse("/a").unwrap(),
                calls: vec![id(1)],
                hunks: vec![2],
                as_it_was: number == 2,
            }],
            ended,
        };
        assert_eq!(kept.undos(session).unwrap(), []);
        for (number, ended) in [(2, false), (2, true), (3, false)] {
            kept.keep_undo(session, undo(number, ended)).unwrap();
        }
        assert_eq!(kept.undos(session).unwrap(), [undo(2, true), undo(3, false)]);
        assert_eq!(kept.with_undos_cut_short().unwrap(), [session]);
        assert_eq!(kept.put_back(id(3)).unwrap().len(), 0);
        kept.keep(id(3), 1, &image(None, b"x")).unwrap();
        assert_eq!(
            kept.put_back(id(3)).unwrap(),
            [VPath::parse("/a").unwrap()].into()
        );
        for number in 10..10 + MAX_UNDOS as u128 {
            kept.keep_undo(session, undo(number, true)).unwrap();
        }
        assert_eq!(kept.with_undos_cut_short().unwrap(), []);
        let known = kept.undos(session).unwrap();
        assert_eq!((known.len(), known[0].id), (MAX_UNDOS, id(10)));
        fs::write(kept.undos_file(session), "{").unwrap();
        assert!(matches!(kept.undos(session), Err(Error::DamagedPreImage { .. })));
    }
}
