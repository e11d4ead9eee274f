//! The search against a few lines that do the same without any engine.

use proptest::prelude::*;
use regex::RegexBuilder;
use tempfile::TempDir;

use super::*;

/// A line of the naive search: path, number, text, and whether it matches.
type NaiveLine = (String, u64, String, bool);

fn naive(files: &std::collections::BTreeMap<String, String>, query: &GrepQuery) -> Vec<NaiveLine> {
    let regex = RegexBuilder::new(&query.pattern)
        .case_insensitive(!query.case_sensitive)
        .build()
        .unwrap();
    let mut found = Vec::new();
    for (path, content) in files {
        let mut lines: Vec<&str> = content.split('\n').collect();
        if lines.last() == Some(&"") {
            lines.pop();
        }
        let lines: Vec<&str> = lines
            .iter()
            .map(|line| line.strip_suffix('\r').unwrap_or(line))
            .collect();
        let hits: Vec<usize> = (0..lines.len()).filter(|&at| regex.is_match(lines[at])).collect();
        for (at, line) in lines.iter().enumerate() {
            let near = |hit: &usize| (hit.saturating_sub(query.before)..=hit + query.after).contains(&at);
            if hits.iter().any(near) {
                found.push((
                    format!("/{path}"),
                    at as u64 + 1,
                    (*line).to_owned(),
                    hits.contains(&at),
                ));
            }
        }
    }
    found.sort_by(|one, other| (&one.0, one.1).cmp(&(&other.0, other.1)));
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]
    #[test]
    fn as_a_naive_search(
        files in prop::collection::btree_map("[abc](/[abc]){0,2}x", "([abAé ]{0,4}\r?\n){0,6}[abé]{0,3}", 1..8),
        pattern in prop::sample::select(vec!["a", "b+", "^a", "a$", "^$", "é", "[^a]", "a|b", r"\bA", "a.b", r"\s", ""]),
        (before, after) in (0usize..3, 0usize..3),
        case_sensitive: bool,
        (offset, head_limit) in (0usize..8, 1usize..12),
    ) {
        let folder = TempDir::new().unwrap();
        files.iter().for_each(|(file, content)| write(folder.path(), file, content));
        let project = Project::open(folder.path()).unwrap();
        let query = GrepQuery { before, after, case_sensitive, offset, head_limit, ..GrepQuery::new(pattern) };
        let want = naive(&files, &query);
        let cancel = CancellationToken::new();
        let mut results = Vec::new();
        for cost in [0, u64::MAX] {
            let walk = Walk::begin(&project, &VPath::root(), &cancel).unwrap().with_serial_cost(cost);
            results.push(Search::new(&query, &|_| {}).unwrap().run(&walk, EVERYTHING).unwrap());
        }
        prop_assert_eq!(&results[0], &results[1]);
        let result = results.remove(0);
        prop_assert_eq!(result.total, want.len() as u64);
        prop_assert_eq!(result.matches, want.iter().filter(|line| line.3).count() as u64);
        let GrepHits::Content(lines) = result.hits else { panic!("content was asked for") };
        let got: Vec<NaiveLine> =
            lines.into_iter().map(|line| (line.path.to_string(), line.number, line.text, line.is_match)).collect();
        let page: Vec<NaiveLine> = want.into_iter().skip(offset).take(head_limit).collect();
        prop_assert_eq!(got, page);
    }
}
