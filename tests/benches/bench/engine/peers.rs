//! Other engines for durable steps, each led by a script of a few lines (`tests/benches/peers`): a line with a number of
//! steps runs a workflow of as many, a line with the milliseconds of a step comes back.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, ensure};

/// Where they are installed, or why they are not.
pub(crate) type Peers = std::result::Result<PathBuf, String>;

/// What it says once it can be told something.
const READY: &str = "ready";

/// An engine that runs, ended when dropped.
pub(super) struct Peer {
    /// The script first, then what it needs.
    processes: Vec<Process>,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// A process, killed when dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Nothing to do where it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Peer {
    /// Restate: its server, and a service beside it. Its data is in the folder.
    pub(super) fn restate(peers: &Path, folder: &Path) -> Result<Self> {
        let ports = free_ports::<3>()?;
        let [admin, ingress, node] = ports.map(|port| format!("127.0.0.1:{port}"));
        let server = format!("node_modules/@restatedev/{}/bin/restate-server", package()?);
        let mut server = Command::new(peers.join(server));
        server
            .args(["--no-logo", "--listen-mode", "tcp", "--base-dir"])
            .arg(folder);
        server.env("RESTATE_DISABLE_TELEMETRY", "true");
        server.env("RESTATE_ADMIN__BIND_ADDRESS", &admin);
        server.env("RESTATE_INGRESS__BIND_ADDRESS", &ingress);
        server.env("RESTATE_BIND_ADDRESS", &node);
        server
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let server = Process(server.spawn().context("the server of Restate does not start")?);
        let mut script = Command::new("node");
        script
            .arg(peers.join("restate.mjs"))
            .args([admin, ingress])
            .env("DO_NOT_TRACK", "1");
        Self::start(script, vec![server])
    }

    /// DBOS, whose database is in the folder.
    pub(super) fn dbos(peers: &Path, folder: &Path) -> Result<Self> {
        let mut script = Command::new(peers.join("venv/bin/python"));
        script.arg(peers.join("dbos_steps.py")).arg(folder);
        Self::start(script, Vec::new())
    }

    fn start(mut script: Command, needed: Vec<Process>) -> Result<Self> {
        script
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = script.spawn().context("its script does not start")?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let mut processes = vec![Process(child)];
        processes.extend(needed);
        let mut peer = Self {
            processes,
            input: input.context("it cannot be told anything")?,
            output: BufReader::new(output.context("it cannot say anything")?),
        };
        let said = peer.line()?;
        ensure!(said == READY, "it said {said:?}");
        Ok(peer)
    }

    /// Runs a workflow of so many steps: the milliseconds of a step.
    pub(super) fn steps(&mut self, steps: usize) -> Result<f64> {
        writeln!(self.input, "{steps}")?;
        let said = self.line()?;
        said.parse().with_context(|| format!("it said {said:?}"))
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        let read = self.output.read_line(&mut line)?;
        if read == 0 {
            let status = self.processes.first_mut().map(|script| script.0.wait());
            let status = status.transpose()?;
            anyhow::bail!("its script ended ({status:?})");
        }
        Ok(line.trim().to_owned())
    }
}

/// The package with the server's binary for this machine.
fn package() -> Result<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("restate-server-linux-x64"),
        "aarch64" => Ok("restate-server-linux-arm64"),
        other => anyhow::bail!("there is no server of Restate for {other}"),
    }
}

/// Ports of loopback that nobody has now.
fn free_ports<const COUNT: usize>() -> Result<[u16; COUNT]> {
    let mut ports = [0; COUNT];
    let mut taken = Vec::new();
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        *port = listener.local_addr()?.port();
        taken.push(listener);
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(script: &str) -> Result<Peer> {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        Peer::start(shell, Vec::new())
    }

    #[test]
    fn a_peer_is_asked_line_by_line_and_its_end_is_told() {
        let mut echo = peer("echo ready; while read -r steps; do echo $steps.5; done").unwrap();
        assert_eq!([echo.steps(3).unwrap(), echo.steps(70).unwrap()], [3.5, 70.5]);
        let told = |made: Result<Peer>| made.and_then(|mut peer| peer.steps(1)).unwrap_err().to_string();
        for (script, why) in [
            ("exit 3", "its script ended"),
            ("echo ready; read -r steps", "its script ended"),
            ("echo no", "it said \"no\""),
            ("echo ready; read -r steps; echo none", "it said \"none\""),
        ] {
            let told = told(peer(script));
            assert!(told.contains(why), "{script}: {told}");
        }
    }
}
