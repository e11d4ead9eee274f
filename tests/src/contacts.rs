//! Whom a process and all that it started have contacted, as strace tells it.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::cut_off::not_tried;

/// The program that watches.
pub const STRACE: &str = "strace";

/// The calls by which bytes get to an address, those that start a program, and the one behind which calls are not seen.
const CALLS: &str = "trace=connect,sendto,sendmsg,sendmmsg,execve,io_uring_setup";

/// The part of a text that is told. Enough to know a program by its arguments; less than what begins an address, so that
/// no content is taken for one.
const TEXT_BYTES: &str = "16";

/// Local sockets behind which another process asks the network for us.
const ASKING_FOR_US: &[&str] = &["/systemd/resolve/", "/avahi-daemon/"];

/// Who was contacted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contact {
    /// An address of the internet; what is asked there does not matter.
    Internet(SocketAddr),
    /// A process of this machine that finds names or things in the network for others, by the path of its socket.
    Resolver(String),
    /// What cannot be told or read, so that nobody knows; in the words of strace.
    Unknown(String),
}

impl fmt::Display for Contact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Internet(address) => write!(formatter, "{address}"),
            Self::Resolver(path) => write!(formatter, "who asks for others at {path}"),
            Self::Unknown(line) => write!(formatter, "somebody unknown: {line}"),
        }
    }
}

/// What strace has written.
pub struct Trace(String);

impl Trace {
    /// Whether processes can be watched here; if not, that is told as what could not be tried.
    pub fn is_possible() -> bool {
        let tried = Self::of(&Command::new("true"), Path::new("/dev/null")).output();
        let why = match tried {
            Ok(Output { status, .. }) if status.success() => return true,
            Ok(output) => crate::text(&output.stderr),
            Err(error) => error.to_string(),
        };
        not_tried(&format!("strace does not work here: {why}"));
        false
    }

    /// The same command under strace, which writes to this file. Its input is none.
    pub fn of(command: &Command, file: &Path) -> Command {
        let options = Self::options(file);
        let mut words = vec![OsStr::new(STRACE)];
        words.extend(options.iter().map(OsString::as_os_str));
        behind(&words, command)
    }

    /// What stands between [`STRACE`] and a command line, to write to this file. What the command starts is watched
    /// too; its own number and what it says stay as they are.
    pub fn options(file: &Path) -> Vec<OsString> {
        let options = [
            "-D",
            "-f",
            "-q",
            "--seccomp-bpf",
            "-e",
            "signal=none",
            "-e",
            CALLS,
            "-s",
            TEXT_BYTES,
            "-o",
        ];
        options.iter().map(OsString::from).chain([file.into()]).collect()
    }

    /// Reads the file of a process that has ended. It is whole: the end of the process is in it.
    pub fn read(file: &Path, process: u32) -> Self {
        let process = process.to_string();
        let is_end = |line: &str| line.split_whitespace().take(2).eq([process.as_str(), "+++"]);
        let until = std::time::Instant::now() + crate::serving::LONGEST;
        loop {
            let text = std::fs::read_to_string(file).expect("strace has written");
            if text.lines().any(is_end) {
                return Self(text);
            }
            assert!(
                std::time::Instant::now() < until,
                "strace has not seen the end:\n{text}"
            );
            std::thread::yield_now();
        }
    }

    /// Who was contacted. Sockets of this machine and of its kernel are none.
    pub fn contacts(&self) -> BTreeSet<Contact> {
        self.0.lines().flat_map(contacts_in).collect()
    }

    /// That nobody was contacted but those at these addresses, and each of them was.
    ///
    /// # Panics
    /// If not.
    pub fn assert_only(&self, allowed: &[SocketAddr]) {
        let expected: BTreeSet<Contact> = allowed.iter().copied().map(Contact::Internet).collect();
        let found = self.contacts();
        let strange: Vec<String> = found.difference(&expected).map(Contact::to_string).collect();
        assert!(strange.is_empty(), "contacted beside {allowed:?}: {strange:#?}");
        assert_eq!(found, expected, "not even those were contacted");
    }

    /// Whether a program was started that is called so, or that has this as an argument.
    pub fn has_started(&self, name: &str) -> bool {
        let (path, argument) = (format!("/{name}\""), format!("\"{name}\""));
        let started = |line: &str| line.contains(&path) || line.contains(&argument);
        self.0
            .lines()
            .any(|line| line.contains(" execve(") && started(line))
    }
}

/// The same command with these words before it.
pub fn behind(words: &[&OsStr], command: &Command) -> Command {
    let mut whole = Command::new(words[0]);
    whole
        .args(&words[1..])
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => whole.env(name, value),
            None => whole.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        whole.current_dir(folder);
    }
    whole.stdin(Stdio::null());
    whole
}

/// Those of a line; a call that sends several messages has several.
fn contacts_in(line: &str) -> Vec<Contact> {
    if line.contains(" io_uring_setup(") {
        return vec![Contact::Unknown(line.to_owned())];
    }
    let addresses = line.match_indices("{sa_family=").map(|(at, begin)| {
        let rest = &line[at + begin.len()..];
        rest.split_once('}').map(|(address, _)| address)
    });
    let contact = |address: Option<&str>| match address.and_then(read) {
        Some(known) => known,
        None => Some(Contact::Unknown(line.to_owned())),
    };
    addresses.filter_map(contact).collect()
}

/// What an address of strace says: nobody outside, or somebody. `None` if it cannot be read.
fn read(address: &str) -> Option<Option<Contact>> {
    let (family, fields) = address.split_once(", ").unwrap_or((address, ""));
    match family {
        // Nobody: ends a connection.
        "AF_UNSPEC" | "AF_NETLINK" => Some(None),
        "AF_UNIX" => {
            let asks = ASKING_FOR_US.iter().any(|part| fields.contains(part));
            Some(asks.then(|| Contact::Resolver(fields.trim_start_matches("sun_path=").to_owned())))
        }
        "AF_INET" | "AF_INET6" => {
            let port = after(fields, "_port=htons(")?.split_once(')')?.0.parse().ok()?;
            let address = after(fields, "inet_addr(").or_else(|| after(fields, "inet_pton(AF_INET6, "))?;
            let address: IpAddr = address.strip_prefix('"')?.split_once('"')?.0.parse().ok()?;
            // An address of the one kind may be written as one of the other.
            let address = SocketAddr::new(address.to_canonical(), port);
            Some(Some(Contact::Internet(address)))
        }
        _ => None,
    }
}

fn after<'t>(text: &'t str, begin: &str) -> Option<&'t str> {
    text.split_once(begin).map(|(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = "127.0.0.1:43210";

    /// What a run has that speaks to its model only.
    const CLEAN: &str = r#"71 execve("/bin/rtc-headless", ["rtc-headless", "run"], 0x7ffc /* 20 vars */) = 0
71 connect(3, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = -1 ENOENT (No such file or directory)
71 sendto(3, [{nlmsg_len=20, nlmsg_type=RTM_GETADDR, nlmsg_flags=NLM_F_REQUEST}], 20, 0, {sa_family=AF_NETLINK, nl_pid=0, nl_groups=00000000}, 12) = 20
71 connect(4, {sa_family=AF_UNIX, sun_path=@"/tmp/.X11-unix/X0"}, 20) = 0
73 connect(9, {sa_family=AF_INET, sin_port=htons(43210), sin_addr=inet_addr("127.0.0.1")}, 16 <unfinished ...>
71 execve("/proc/self/exe", ["/proc/self/exe", "script-worker"], 0x7ffc /* 1 var */) = 0
73 <... connect resumed>) = -1 EINPROGRESS (Operation now in progress)
73 sendto(9, "POST /v1/chat/co"..., 412, MSG_NOSIGNAL, NULL, 0) = 412
73 sendmsg(5, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base="x", iov_len=1}], msg_iovlen=1, msg_controllen=0, msg_flags=0}, 0) = 1
74 connect(9, {sa_family=AF_UNSPEC, sa_data="\0\0\0\0\0\0\0\0\0\0\0\0\0\0"}, 16) = 0
71 +++ exited with 0 +++
"#;

    fn trace(line: &str) -> Trace {
        Trace(format!("{CLEAN}{line}\n"))
    }

    fn allowed() -> [SocketAddr; 1] {
        [MODEL.parse().expect("an address")]
    }

    fn is_refused(line: &str) -> bool {
        std::panic::catch_unwind(|| trace(line).assert_only(&allowed())).is_err()
    }

    #[test]
    fn the_model_alone_is_nobody_strange() {
        trace("").assert_only(&allowed());
        assert!(trace("").has_started("script-worker"));
        assert!(trace("").has_started("rtc-headless"));
        assert!(!trace("").has_started("script"));
    }

    #[test]
    fn whoever_else_is_contacted_is_told() {
        let internet = |address: &str| Contact::Internet(address.parse().expect("an address"));
        let table = [
            (
                r#"72 connect(3, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("192.0.2.7")}, 16) = 0"#,
                internet("192.0.2.7:443"),
            ),
            (
                r#"72 connect(3, {sa_family=AF_INET, sin_port=htons(43211), sin_addr=inet_addr("127.0.0.1")}, 16 <unfinished ...>"#,
                internet("127.0.0.1:43211"),
            ),
            (
                r#"72 sendto(4, "hello there this"..., 29, 0, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("127.0.0.53")}, 16) = 29"#,
                internet("127.0.0.53:53"),
            ),
            (
                r#"72 sendmsg(4, {msg_name={sa_family=AF_INET, sin_port=htons(5353), sin_addr=inet_addr("224.0.0.251")}, msg_namelen=16, msg_iov=[{iov_base="x", iov_len=1}], msg_iovlen=1, msg_controllen=0, msg_flags=0}, 0) = 1"#,
                internet("224.0.0.251:5353"),
            ),
            (
                r#"72 sendmmsg(6, [{msg_hdr={msg_name=NULL, msg_namelen=0}, msg_len=2}, {msg_hdr={msg_name={sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("192.0.2.8")}, msg_namelen=16}, msg_len=2}], 2, 0) = 2"#,
                internet("192.0.2.8:53"),
            ),
            (
                r#"72 connect(5, {sa_family=AF_INET6, sin6_port=htons(80), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "2001:db8::1", &sin6_addr), sin6_scope_id=0}, 28) = -1 ENETUNREACH (Network is unreachable)"#,
                internet("[2001:db8::1]:80"),
            ),
            (
                r#"72 connect(5, {sa_family=AF_INET6, sin6_port=htons(80), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "::ffff:192.0.2.9", &sin6_addr), sin6_scope_id=0}, 28) = 0"#,
                internet("192.0.2.9:80"),
            ),
            (
                r#"72 connect(6, {sa_family=AF_UNIX, sun_path="/run/systemd/resolve/io.systemd.Resolve"}, 42) = 0"#,
                Contact::Resolver(r#""/run/systemd/resolve/io.systemd.Resolve""#.to_owned()),
            ),
        ];
        for (line, expected) in table {
            let strange: Vec<Contact> = trace(line)
                .contacts()
                .into_iter()
                .filter(|found| *found != internet(MODEL))
                .collect();
            assert_eq!(strange, [expected], "{line}");
            assert!(is_refused(line), "{line}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_let_through() {
        for line in [
            r"72 connect(5, {sa_family=AF_VSOCK, svm_cid=VMADDR_CID_HOST, svm_port=0x400}, 16) = 0",
            r"72 connect(5, {sa_family=AF_INET, sa_data=",
            r#"72 connect(5, {sa_family=AF_INET, sin_port=htons(443), sin_addr=0x1}, 16) = 0"#,
            "72 io_uring_setup(64, {flags=0}) = 5",
        ] {
            assert!(is_refused(line), "{line}");
        }
    }

    #[test]
    fn who_should_have_been_contacted_has_to_be() {
        let other = "127.0.0.1:1".parse().expect("an address");
        let both = [allowed()[0], other];
        assert!(std::panic::catch_unwind(|| trace("").assert_only(&both)).is_err());
    }
}
