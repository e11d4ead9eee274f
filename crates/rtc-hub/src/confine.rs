//! What keeps a worker from reaching anything but its own memory and its two streams.
//!
//! What runs in a worker has no authority by how the engine is made. This is for the day on which the engine has a hole: the
//! kernel then lets it open no file, reach no network and start no program.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What confines a process, each part as it was found when it was put up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Landlock: no file can be opened but those of time zones, no port, no process outside can be reached.
    pub landlock: Barrier,
    /// seccomp: no socket, no other program or process, nothing that changes the system.
    pub seccomp: Barrier,
}

/// Whether a part of the confinement is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Barrier {
    /// It is.
    On {
        /// What of it.
        detail: String,
    },
    /// The system offers it, and it could not be put up.
    Off {
        /// Why.
        reason: String,
    },
    /// The system does not offer it.
    NotOffered {
        /// Why.
        reason: String,
    },
}

impl Barrier {
    /// Whether it is there, or cannot be on this system.
    pub fn is_as_good_as_can_be(&self) -> bool {
        !matches!(self, Self::Off { .. })
    }
}

impl fmt::Display for Barrier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On { detail } => write!(formatter, "on ({detail})"),
            Self::Off { reason } => write!(formatter, "OFF: {reason}"),
            Self::NotOffered { reason } => write!(formatter, "not offered: {reason}"),
        }
    }
}

/// Confines this process for as long as it lives. It must not have started a thread yet: those that are there are not
/// confined. Files and streams that are open stay so.
pub fn confine() -> Confinement {
    let confinement = system::confine();
    for (name, barrier) in [
        ("Landlock", &confinement.landlock),
        ("seccomp", &confinement.seccomp),
    ] {
        if !barrier.is_as_good_as_can_be() {
            tracing::warn!("{name} {barrier}");
        }
    }
    confinement
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Barrier, Confinement};

    pub(super) fn confine() -> Confinement {
        let not_offered = || Barrier::NotOffered {
            reason: "it is of Linux".to_owned(),
        };
        Confinement {
            landlock: not_offered(),
            seccomp: not_offered(),
        }
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::collections::BTreeMap;

    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, LandlockStatus, Ruleset,
        RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
    };
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule,
    };

    use super::{Barrier, Confinement};

    /// The newest Landlock of which everything is asked for; what the kernel does not have of it is left out.
    const NEWEST: ABI = ABI::V7;

    /// What a local time is read from.
    const TIME_ZONES: [&str; 3] = ["/etc/localtime", "/etc/timezone", "/usr/share/zoneinfo"];

    /// What nothing in a worker needs: sockets, programs and processes, other processes' memory, and what changes the
    /// system or goes around this list.
    const DENIED: &[i64] = &[
        libc::SYS_socket,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_accept,
        libc::SYS_accept4,
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_open,
        libc::SYS_pidfd_getfd,
        libc::SYS_pidfd_send_signal,
        libc::SYS_kcmp,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_open_by_handle_at,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_kexec_load,
        libc::SYS_reboot,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_acct,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_sethostname,
        libc::SYS_setdomainname,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_fork,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_vfork,
    ];

    pub(super) fn confine() -> Confinement {
        Confinement {
            landlock: landlock(),
            // Last: it takes from this process what the lines above need.
            seccomp: seccomp(),
        }
    }

    fn landlock() -> Barrier {
        let restricted = || {
            Ruleset::default()
                .set_compatibility(CompatLevel::BestEffort)
                .handle_access(AccessFs::from_all(NEWEST))?
                .handle_access(AccessNet::from_all(NEWEST))?
                .scope(Scope::from_all(NEWEST))?
                .create()?
                .add_rules(path_beneath_rules(TIME_ZONES, AccessFs::from_read(NEWEST)))?
                .restrict_self()
        };
        let off = |reason: String| Barrier::Off { reason };
        match restricted() {
            Err(error) => off(error.to_string()),
            Ok(status) => match status.landlock {
                LandlockStatus::NotImplemented => Barrier::NotOffered {
                    reason: "the kernel was built without it".to_owned(),
                },
                LandlockStatus::NotEnabled => Barrier::NotOffered {
                    reason: "it is not among the security modules that the kernel was started with"
                        .to_owned(),
                },
                LandlockStatus::Available { effective_abi, .. } => {
                    if status.ruleset == RulesetStatus::NotEnforced {
                        return off("nothing of it is enforced".to_owned());
                    }
                    let mut what = vec!["files"];
                    if effective_abi >= ABI::V4 {
                        what.push("TCP");
                    }
                    if effective_abi >= ABI::V6 {
                        what.push("signals, abstract sockets");
                    }
                    Barrier::On {
                        detail: format!("version {}: {}", effective_abi as i32, what.join(", ")),
                    }
                }
            },
        }
    }

    fn seccomp() -> Barrier {
        let put_up = || -> Result<usize, Box<dyn std::error::Error>> {
            let mut denied: BTreeMap<i64, Vec<SeccompRule>> =
                DENIED.iter().map(|call| (*call, Vec::new())).collect();
            // A thread is no process.
            let thread = libc::CLONE_THREAD as u64;
            let is_process =
                SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(thread), 0)?;
            denied.insert(libc::SYS_clone, vec![SeccompRule::new(vec![is_process])?]);
            let count = denied.len();
            // Its flags cannot be looked at; without it, threads are made by the one above.
            let newer = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
            for (calls, error) in [(denied, libc::EPERM), (newer, libc::ENOSYS)] {
                let filter = SeccompFilter::new(
                    calls,
                    SeccompAction::Allow,
                    SeccompAction::Errno(error.unsigned_abs()),
                    std::env::consts::ARCH.try_into()?,
                )?;
                let program: BpfProgram = filter.try_into()?;
                seccompiler::apply_filter_all_threads(&program)?;
            }
            Ok(count)
        };
        match put_up() {
            Ok(count) => Barrier::On {
                detail: format!("{count} system calls refused"),
            },
            Err(error) => Barrier::Off {
                reason: error.to_string(),
            },
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
