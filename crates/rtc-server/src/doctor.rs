//! `doctor`: what this machine offers to keep scripts in their place, and whether it is in force.

use anyhow::Result;
use rtc_app::Confinement;

use crate::console::Console;
use crate::exit::Exit;

/// Starts a worker for scripts and tells what it says of itself. What the system offers and is not in force is a failure.
pub(crate) async fn run(console: &Console) -> Result<Exit> {
    let Confinement { landlock, seccomp } = rtc_app::script_confinement().await?;
    console.result("Scripts run in a process of their own, which the kernel keeps from all but its memory and its two streams:");
    console.result(&format!("  Landlock  {landlock}"));
    console.result(&format!("  seccomp   {seccomp}"));
    let is_confined = landlock.is_as_good_as_can_be() && seccomp.is_as_good_as_can_be();
    Ok(if is_confined {
        Exit::Completed
    } else {
        Exit::Failed
    })
}
