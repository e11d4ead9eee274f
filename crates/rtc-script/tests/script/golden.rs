use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::place::{Place, place};

fn sample() -> Place {
    place(&[
        ("README.md", "# Sample\n\nTODO: say more\n"),
        ("src/main.rs", "fn main() {\n    // TODO\n}\n"),
        ("src/lib.rs", "pub fn two() -> u32 {\n    2\n}\n"),
        ("data/numbers.csv", "a,b\n1,2\n3,4\n"),
    ])
}

/// Each `x.js` gives what is in `x.out`; `RTC_GOLDEN=write` writes what is given now. A first line `// {…}` has
/// arguments of the call.
#[tokio::test]
async fn scripts_give_what_is_written_beside_them() {
    let mut scripts = scripts();
    scripts.sort();
    assert!(scripts.len() > 10);
    let mut wrong = Vec::new();
    for script in scripts {
        let code = read(&script);
        let mut args: Map<String, Value> = code
            .lines()
            .next()
            .and_then(|line| serde_json::from_str(line.strip_prefix("// ")?).ok())
            .unwrap_or_default();
        args.insert("title".into(), json!("golden"));
        args.insert("code".into(), json!(code));
        let given = sample().text(Value::Object(args)).await + "\n";
        let out = script.with_extension("out");
        if std::env::var_os("RTC_GOLDEN").is_some() {
            write(&out, &given);
        } else if given != read(&out) {
            wrong.push(format!(
                "{}:\n{given}\nexpected:\n{}",
                script.display(),
                read(&out)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[expect(clippy::disallowed_methods, reason = "the golden files")]
fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "js"))
        .collect()
}

#[expect(clippy::disallowed_methods, reason = "the golden files")]
fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[expect(clippy::disallowed_methods, reason = "the golden files")]
fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}
