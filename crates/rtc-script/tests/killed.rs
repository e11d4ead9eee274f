//! A worker that is killed in the middle of a script, and what the system keeps it from.

#![allow(clippy::unwrap_used, reason = "tests and what they stand on")]

#[path = "script/place.rs"]
#[expect(dead_code, reason = "this test needs less of it")]
mod place;

use serde_json::json;

/// The processes that this one has started, as the system lists them.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "the system's own table of processes")]
fn children() -> Vec<u32> {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let lists =
        threads.map(|thread| std::fs::read_to_string(thread.unwrap().path().join("children")).unwrap());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .map(|id| id.parse().unwrap())
                .collect::<Vec<u32>>()
        })
        .collect()
}

/// How many bytes of data the system lets a process have.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "the system's own table of processes")]
fn data_limit(process: u32) -> String {
    let limits = std::fs::read_to_string(format!("/proc/{process}/limits")).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max data size"));
    line.unwrap().split_whitespace().nth(3).unwrap().to_owned()
}

/// The variables that a process was started with.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "the system's own table of processes")]
fn environment(process: u32) -> Vec<String> {
    let environment = std::fs::read_to_string(format!("/proc/{process}/environ")).unwrap();
    environment.split('\0').map(str::to_owned).collect()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_killed_worker_is_told_and_replaced() {
    let place = place::place(&[]);
    let code =
        "await rtcAgent.fs.write('/a', '1');\nconsole.log('ready');\nawait rtcAgent.system.delay(60000)";
    let args = json!({"title": "t", "code": code});
    // It is started while the user still looks at what the script would do.
    place.script.preview(&place.context, &args).await.unwrap();
    let ready = children();
    assert_eq!(ready.len(), 1);
    let kill = |_: &str| {
        let children = children();
        assert_eq!(children, ready);
        let [worker] = children[..] else {
            panic!("{children:?}")
        };
        // The last line: whatever a script makes its worker take, it is not the memory of the machine.
        let limit = data_limit(worker);
        assert_eq!(limit, rtc_script::MAX_WORKER_BYTES.to_string());
        // Nothing of a script is kept in a file that nobody knows of.
        let switch = "V82JSC_NO_BC_CACHE=1";
        assert!(environment(worker).iter().any(|variable| variable == switch));
        let worker = rustix::process::Pid::from_raw(i32::try_from(worker).unwrap()).unwrap();
        rustix::process::kill_process(worker, rustix::process::Signal::KILL).unwrap();
    };
    let error = place.call_telling(args, kill).await.unwrap_err();
    insta::assert_snapshot!(error, @"
    the process of the script ended (signal: 9 (SIGKILL)) (line 2)
    It had already changed `/a`.
    The console until then:
    ready
    ");
    assert_eq!(
        place.text(json!({"title": "t", "code": "1 + 1"})).await,
        "result: 2"
    );
}
