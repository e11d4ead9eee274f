//! Why the engine did not do what it was asked.

use rtc_types::Code;

/// Why the engine did not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request is not possible as things are; whoever asked can read why.
    #[error("{message}")]
    Refused {
        /// The stable code.
        code: Code,
        /// What is wrong and what to do.
        message: String,
    },
    /// The store did not take or give something.
    #[error(transparent)]
    Store(std::sync::Arc<rtc_store::Error>),
    /// Something in the store is not as this version writes it. What does not need it goes on; it stays as it is.
    #[error("what is stored is damaged: {0}; nothing was deleted, and what does not need it goes on")]
    Unreadable(String),
    /// The lane has ended: the engine is shutting down, or another process took the session over.
    #[error("the session's lane has ended; open the session again")]
    Ended,
}

impl Error {
    pub(crate) fn refused(code: Code, message: impl Into<String>) -> Self {
        Self::Refused {
            code,
            message: message.into(),
        }
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            Self::Refused { code, .. } => *code,
            Self::Store(error) if matches!(**error, rtc_store::Error::Full) => Code::DiskFull,
            Self::Store(error) if matches!(**error, rtc_store::Error::Damaged { .. }) => Code::StoreDamaged,
            Self::Store(_) => Code::Internal,
            Self::Unreadable(_) => Code::StoreDamaged,
            Self::Ended => Code::ShuttingDown,
        }
    }
}

impl From<rtc_store::Error> for Error {
    fn from(error: rtc_store::Error) -> Self {
        Self::Store(std::sync::Arc::new(error))
    }
}
