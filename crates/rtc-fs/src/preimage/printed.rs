//! What calls have printed, kept for the case that their process dies.

use std::fs;
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;

use rtc_types::{RtcId, SessionId};

use super::folder::{PreImageFolder, failed};
use crate::Error;

impl PreImageFolder {
    /// Begins to keep what this start of the call `rtc` prints, and forgets what its session has printed
    /// before.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn begin_printing(&self, session: SessionId, rtc: RtcId, attempt: u32) -> Result<(), Error> {
        let path = self.printed_file(session);
        let begun = || {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut options = fs::OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            options
                .open(&path)?
                .write_all(printed_head(rtc, attempt).as_bytes())
        };
        begun().map_err(|source| failed(&path, source))
    }

    /// Adds to what the session's call has printed since [`PreImageFolder::begin_printing`]. It outlives this process,
    /// though not the system.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn print(&self, session: SessionId, text: &str) -> Result<(), Error> {
        let path = self.printed_file(session);
        fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|source| failed(&path, source))
    }

    /// The last `most` bytes of what this start of the call has printed, from the beginning of a character; `None` if
    /// nothing is known, as after the next one of the session has begun to print.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn printed(
        &self,
        session: SessionId,
        rtc: RtcId,
        attempt: u32,
        most: u64,
    ) -> Result<Option<String>, Error> {
        let path = self.printed_file(session);
        let expected = printed_head(rtc, attempt);
        let read = || -> io::Result<Option<Vec<u8>>> {
            let mut file = fs::File::open(&path)?;
            let mut head = vec![0; expected.len()];
            file.read_exact(&mut head)?;
            if head != expected.as_bytes() {
                return Ok(None);
            }
            let behind = head.len() as u64;
            let from = file.metadata()?.len().saturating_sub(most).max(behind);
            file.seek(io::SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.take(most).read_to_end(&mut bytes)?;
            Ok(Some(bytes))
        };
        match read() {
            Ok(bytes) => Ok(bytes.map(|bytes| {
                let middle = bytes.iter().take_while(|byte| **byte & 0xC0 == 0x80).count();
                String::from_utf8_lossy(&bytes[middle..]).into_owned()
            })),
            // One without its first line was cut off when it began.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof
                ) =>
            {
                Ok(None)
            }
            Err(source) => Err(failed(&path, source)),
        }
    }

    fn printed_file(&self, session: SessionId) -> PathBuf {
        self.folder.join(format!("{session}.printed"))
    }
}

/// The first line of what a call has printed: whose it is.
fn printed_head(rtc: RtcId, attempt: u32) -> String {
    format!("{rtc} {attempt}\n")
}
