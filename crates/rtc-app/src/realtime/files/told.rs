//! The errors of a project folder as clients are told of them.

use rtc_fs::Error;
use rtc_types::Code;
use rtc_wire::rpc::RpcError;
use serde_json::json;

/// The error with its stable code; which one it was exactly goes along for programs.
pub(in crate::realtime) fn told(error: Error) -> RpcError {
    let code = code(&error);
    RpcError {
        details: Some(json!({ "reason": error.code() })),
        ..RpcError::new(code, error.to_string())
    }
}

fn code(error: &Error) -> Code {
    match error {
        Error::ParentSegment { .. }
        | Error::InvalidPath { .. }
        | Error::InvalidPattern { .. }
        | Error::UnknownFileType { .. }
        | Error::PastReach { .. }
        | Error::NoHunk { .. }
        | Error::PastEnd { .. } => Code::InvalidArgument,
        Error::RootMissing { .. }
        | Error::RootNotFolder { .. }
        | Error::RootUnreadable { .. }
        | Error::OwnDataRoot { .. } => Code::ProjectNotFound,
        Error::NotFound { .. }
        | Error::SeveralNames { .. }
        | Error::DanglingLink { .. }
        | Error::LinkLoop { .. } => Code::FileNotFound,
        Error::Outside { .. } | Error::OwnData { .. } => Code::FileOutside,
        Error::IsFolder { .. }
        | Error::NotFolder { .. }
        | Error::NotRegular { .. }
        | Error::IsLink { .. } => Code::FileWrongKind,
        Error::Denied { .. } | Error::GitFolder { .. } => Code::FileDenied,
        Error::Binary { .. } => Code::FileNotText,
        Error::TooLarge { .. } | Error::TooMany { .. } => Code::FileTooLarge,
        Error::UnsupportedEncoding { .. } | Error::Unencodable { .. } | Error::DamagedText { .. } => {
            Code::FileUnencodable
        }
        Error::Exists { .. } | Error::ChangedSince { .. } => Code::FileConflict,
        Error::Full { .. } => Code::DiskFull,
        _ => Code::Internal,
    }
}
