//! Scenarios that came with a message of the user: what is stored for the model, and how it reads them.

use rtc_model::SCENARIOS;
use rtc_types::{PromptContent, ScenarioRef};

/// What the stored prompt of scenarios is called.
const NAME: &str = "scenarios";

/// How many characters of the titles are shown.
const TITLE: usize = 97;

/// What the model reads of scenarios; nothing where none of them says anything.
pub(crate) fn prompt(scenarios: &[ScenarioRef]) -> Option<PromptContent> {
    let said: Vec<&ScenarioRef> = scenarios
        .iter()
        .filter(|scenario| !scenario.file_content.trim().is_empty())
        .collect();
    if said.is_empty() {
        return None;
    }
    let titles: Vec<&str> = said.iter().map(|scenario| &*scenario.title).collect();
    let bodies: Vec<String> = said
        .iter()
        .map(|scenario| format!("# {}\n\n{}", scenario.title, scenario.file_content))
        .collect();
    Some(PromptContent {
        name: NAME.to_owned(),
        title: cut(titles.join(", ")),
        body: bodies.join("\n\n"),
    })
}

fn cut(mut title: String) -> String {
    if let Some((end, _)) = title.char_indices().nth(TITLE) {
        title.truncate(end);
        title.push('…');
    }
    title
}

/// What the user typed, behind the scenarios that came with it.
pub(crate) fn before(body: &str, text: &str) -> String {
    let (begin, end) = SCENARIOS;
    let gap = if text.is_empty() { "" } else { "\n\n" };
    format!("{begin}{body}{end}{gap}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(title: &str, content: &str) -> ScenarioRef {
        ScenarioRef {
            title: title.to_owned(),
            filepath: "/scenarios/a.md".to_owned(),
            file_content: content.to_owned(),
        }
    }

    #[test]
    fn what_says_something_stands_beneath_its_title_before_the_text() {
        let scenarios = [
            scenario("Tidying", "One drawer\nat a time."),
            scenario("Nothing", " \n"),
            scenario("Counting", "Twice."),
        ];
        let prompt = prompt(&scenarios).unwrap();
        assert_eq!(
            (&*prompt.name, &*prompt.title),
            ("scenarios", "Tidying, Counting")
        );
        insta::assert_snapshot!(before(&prompt.body, "Begin"), @"
        <scenarios>
        # Tidying

        One drawer
        at a time.

        # Counting

        Twice.
        </scenarios>

        Begin
        ");
        assert_eq!(before("x", ""), "<scenarios>\nx\n</scenarios>");
        assert_eq!(super::prompt(&scenarios[1..2]), None);
        assert_eq!(super::prompt(&[]), None);
    }

    #[test]
    fn titles_are_cut_between_characters() {
        let titled = |title: &str| prompt(&[scenario(title, "x"), scenario("b", "y")]).unwrap().title;
        let whole = "漢".repeat(94);
        assert_eq!(titled(&whole), format!("{whole}, b"));
        assert_eq!(titled(&format!("{whole}é")), format!("{whole}é, …"));
        assert_eq!(titled(&"漢".repeat(200)), format!("{}…", "漢".repeat(97)));
    }
}
