//! A process that serves tools over its standard input and output.

use std::process::ExitCode;

use rtc_tool::Registry;

use crate::{Error, Peer};

/// The variable that tells a child the number of its parent.
pub const PARENT_VARIABLE: &str = "RTC_PARENT_PROCESS";

/// Makes this process end when its parent does. `false` if the parent has gone already: then the caller ends at once.
pub fn end_with_parent() -> bool {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let signal = Some(rustix::process::Signal::KILL);
        if rustix::process::set_parent_process_death_signal(signal).is_err() {
            // The end of its input tells it as well, only later.
            return true;
        }
    }
    #[cfg(unix)]
    {
        // The parent may have died before the line above: then this process has another one by now.
        let expected = std::env::var(PARENT_VARIABLE)
            .ok()
            .and_then(|id| id.parse::<i32>().ok());
        let now = rustix::process::getppid().map(rustix::process::Pid::as_raw_pid);
        expected.is_none() || expected == now
    }
    #[cfg(not(unix))]
    true
}

/// Lets this process have so many bytes of data in memory and no more: beyond that it breaks down. Only on Linux.
pub fn limit_memory(bytes: u64) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let limit = Rlimit {
            current: Some(bytes),
            maximum: Some(bytes),
        };
        if let Err(error) = setrlimit(Resource::Data, limit) {
            tracing::warn!(%error, "the memory of this process is not limited");
        }
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _ = bytes;
}

/// Serves `tools` until its input ends, and then ends this process at once, whatever still runs in it.
///
/// Only frames are written to the standard output: what else is printed goes to the standard error.
pub fn run_worker(tools: Registry) -> ExitCode {
    if !end_with_parent() {
        return ExitCode::FAILURE;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let over = match runtime {
        Ok(runtime) => runtime.block_on(serve(tools)),
        Err(error) => Err(error),
    };
    match over {
        Ok(Error::Closed) => {}
        Ok(error) => tracing::warn!(%error, "the connection broke"),
        Err(error) => tracing::warn!(%error, "nothing can be served"),
    }
    end_now()
}

#[cfg(unix)]
async fn serve(tools: Registry) -> std::io::Result<Error> {
    use std::os::fd::AsFd as _;
    use std::process::{ChildStdin, ChildStdout};

    // Nothing else in this process can read from or write between the frames.
    let (input, output) = (
        rustix::io::dup(std::io::stdin())?,
        rustix::io::dup(std::io::stdout())?,
    );
    rustix::stdio::dup2_stdout(std::io::stderr().as_fd())?;
    let reader = tokio::process::ChildStdout::from_std(ChildStdout::from(input))?;
    let writer = tokio::process::ChildStdin::from_std(ChildStdin::from(output))?;
    Ok(Peer::start(reader, writer, tools).closed().await)
}

#[cfg(not(unix))]
async fn serve(tools: Registry) -> std::io::Result<Error> {
    Ok(Peer::start(tokio::io::stdin(), tokio::io::stdout(), tools)
        .closed()
        .await)
}

/// Ends the process without waiting for any of its threads.
fn end_now() -> ExitCode {
    #[cfg(unix)]
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    ExitCode::FAILURE
}
