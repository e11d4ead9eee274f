//! Why the app did not start.

use std::path::PathBuf;

/// Why the app did not start. Each is for the user to mend, and says how.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration cannot be read.
    #[error("the configuration {} is wrong{at}: {message}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// `, line N, field F`, as far as known.
        at: String,
        /// What is wrong.
        message: String,
    },
    /// The configuration file is not there, or cannot be opened.
    #[error("the configuration {} cannot be read: {reason}; name another file with --config", path.display())]
    NoConfig {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// No model has this name.
    #[error("there is no model `{name}`; there are: {}", known.join(", "))]
    UnknownModel {
        /// The name.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// The model exists, but this version does not speak its dialect.
    #[error("the model `{name}` speaks `{api}`, which this version does not; use `offline`")]
    ApiNotSpoken {
        /// The name.
        name: String,
        /// Its dialect.
        api: String,
    },
    /// The project folder cannot be opened.
    #[error(transparent)]
    Folder(#[from] rtc_fs::Error),
    /// The path of the project folder is not Unicode, and so cannot be stored.
    #[error("the folder {} has a name that is not Unicode; rename it", .0.display())]
    NotUnicode(PathBuf),
    /// The data folder cannot be used.
    #[error("the data folder {} cannot be used: {reason}; name another one with --data", path.display())]
    Data {
        /// The folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The folder was not made by this program.
    #[error(
        "the folder {} is not empty and holds no data of this program; name an empty or new folder with --data",
        .0.display()
    )]
    NotData(PathBuf),
    /// The file that says who this installation is cannot be read.
    #[error(
        "{} is damaged ({reason}), and without it the sessions of this data folder are not found; restore the file, or \
         name another folder with --data; nothing was changed",
        path.display()
    )]
    Identity {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The file of the key that signs tokens is not one.
    #[error(
        "{} is damaged; restore the file, or remove it: then a new one is made, and the tokens made so far are no longer valid",
        path.display()
    )]
    Key {
        /// The file.
        path: PathBuf,
    },
    /// The token that was named is none of this installation's.
    #[error("{0}, or it was made by another installation; name its data folder with --data")]
    Token(rtc_realtime::Denied),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes, without which no key can be made")]
    NoRandom,
    /// Another process works with the data folder.
    #[error(
        "another process is using the data folder {}; close it first, or name another folder with --data",
        .0.display()
    )]
    InUse(PathBuf),
    /// There is no data folder by default on this machine.
    #[error("this machine names no folder for data; name one with --data DIR or RTC_DATA")]
    NoDataFolder,
    /// The system does not say which file this program is.
    #[error("the program does not find its own file: {0}")]
    NoProgram(String),
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] rtc_store::Error),
    /// The engine did not start.
    #[error(transparent)]
    Engine(#[from] rtc_engine::Error),
}

impl Error {
    /// The disk is full: nobody called anything wrongly.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Store(rtc_store::Error::Full) | Self::Folder(rtc_fs::Error::Full { .. }) => true,
            Self::Engine(error) => error.code() == rtc_types::Code::DiskFull,
            _ => false,
        }
    }
}
