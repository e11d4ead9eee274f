//! Turns changes of whole lines into exact text edits, each of which fits one place of the file only.

/// Up to so many runs of lines are removed one by one; beyond, one edit spans them all.
const MAX_RUNS: usize = 8;

/// A line this long may have been clipped when it was read, in bytes, so it cannot be part of an edit.
const MAX_LINE: usize = 1_900;

/// An exact edit: the old text and the new one.
pub(super) type Edit = (String, String);

/// The edit that adds `line` behind the last one, whether or not the file ends with a line end.
///
/// `None` if no end of the text fits one place only.
pub(super) fn append(lines: &[String], line: &str) -> Option<Edit> {
    let text = whole(lines);
    (0..lines.len()).rev().find_map(|from| {
        let old = lines[from..].join("\n");
        fits_once(&text, &old, offset(lines, from)).then(|| (old.clone(), format!("{old}\n{line}")))
    })
}

/// The edits that remove the lines with these indexes (rising, from 0). Each keeps what it does not remove, whether or
/// not the file ends with a line end.
///
/// `None` if that cannot be said in exact edits: when all lines go, or lines are too long.
pub(super) fn remove(lines: &[String], indexes: &[usize]) -> Option<Vec<Edit>> {
    if indexes.len() >= lines.len() {
        return None;
    }
    let runs = runs(indexes);
    if runs.len() <= MAX_RUNS
        && let Some(edits) = one_by_one(lines, &runs)
    {
        return Some(edits);
    }
    let (first, last) = (*indexes.first()?, *indexes.last()?);
    let removes = |index: usize| indexes.binary_search(&index).is_ok();
    widen(lines, first, last, 0, lines.len() - 1, removes).map(|(_, edit)| vec![edit])
}

fn one_by_one(lines: &[String], runs: &[(usize, usize)]) -> Option<Vec<Edit>> {
    let mut text = whole(lines);
    let mut edits = Vec::with_capacity(runs.len());
    let mut gone = 0;
    for (index, &(first, last)) in runs.iter().enumerate() {
        let low = index.checked_sub(1).map_or(0, |before| runs[before].1 + 1);
        let high = runs.get(index + 1).map_or(lines.len(), |after| after.0) - 1;
        let (from, edit) = widen(lines, first, last, low, high, |line| {
            (first..=last).contains(&line)
        })?;
        // The edits run one after another: each must still fit its place only when its turn comes.
        if !fits_once(&text, &edit.0, offset(lines, from) - gone) {
            return None;
        }
        gone += edit.0.len() - edit.1.len();
        text = text.replacen(&edit.0, &edit.1, 1);
        edits.push(edit);
    }
    Some(edits)
}

/// Takes more and more lines around a run until the text fits one place only; gives the first line taken, too.
fn widen(
    lines: &[String],
    first: usize,
    last: usize,
    low: usize,
    high: usize,
    removes: impl Fn(usize) -> bool,
) -> Option<(usize, Edit)> {
    let text = whole(lines);
    let end = lines.len() - 1;
    let (mut from, mut to) = (first, last);
    loop {
        // Whether the last line has a line end is not known, so an edit that reaches it keeps a line before its last
        // removed one, and takes away the line end between them.
        let reaches_end = to == end;
        let kept: Vec<&str> = (from..=to)
            .filter(|line| !removes(*line))
            .map(|line| lines[line].as_str())
            .collect();
        let usable = !(reaches_end && kept.is_empty());
        let mut old = lines[from..=to].join("\n");
        let mut new = kept.join("\n");
        if !reaches_end {
            old.push('\n');
            if !kept.is_empty() {
                new.push('\n');
            }
        }
        let clipped = lines[from..=to].iter().any(|line| line.len() > MAX_LINE);
        if usable && !clipped && fits_once(&text, &old, offset(lines, from)) {
            return Some((from, (old, new)));
        }
        if clipped || (from == low && to == high) {
            return None;
        }
        if from > low {
            from -= 1;
        }
        if to < high && (usable || from == low) {
            to += 1;
        }
    }
}

/// Runs of neighbouring indexes.
fn runs(indexes: &[usize]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &index in indexes {
        match runs.last_mut() {
            Some(run) if run.1 + 1 == index => run.1 = index,
            _ => runs.push((index, index)),
        }
    }
    runs
}

fn whole(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

fn offset(lines: &[String], index: usize) -> usize {
    lines[..index].iter().map(|line| line.len() + 1).sum()
}

fn fits_once(text: &str, part: &str, at: usize) -> bool {
    if part.is_empty() || text.find(part) != Some(at) {
        return false;
    }
    let next = at + part.chars().next().map_or(1, char::len_utf8);
    !text[next..].contains(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(lines: &[String], ends: bool) -> String {
        let mut text = lines.join("\n");
        if ends {
            text.push('\n');
        }
        text
    }

    fn apply(mut text: String, edits: &[Edit]) -> String {
        for (old, new) in edits {
            assert_eq!(text.matches(old.as_str()).count(), 1, "{old:?} in {text:?}");
            text = text.replacen(old, new, 1);
        }
        text
    }

    fn few_words() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec("[ab]{0,2}", 1..24)
    }

    proptest! {
        #[test]
        fn a_line_is_appended_behind_the_last(lines in few_words(), ends: bool) {
            prop_assume!(ends || lines.last().is_some_and(|last| !last.is_empty()));
            if let Some(edit) = append(&lines, "new") {
                let mut expected = lines.clone();
                expected.push("new".to_owned());
                prop_assert_eq!(apply(file(&lines, ends), &[edit]), file(&expected, ends));
            } else {
                prop_assert!(lines.iter().all(String::is_empty));
            }
        }

        #[test]
        fn exactly_the_named_lines_are_removed(lines in few_words(), picks in prop::collection::btree_set(0usize..24, 1..6), ends: bool) {
            prop_assume!(ends || lines.last().is_some_and(|last| !last.is_empty()));
            let indexes: Vec<usize> = picks.into_iter().filter(|index| *index < lines.len()).collect();
            prop_assume!(!indexes.is_empty());
            if let Some(edits) = remove(&lines, &indexes) {
                let kept: Vec<String> = lines.iter().enumerate().filter(|(index, _)| !indexes.contains(index)).map(|(_, line)| line.clone()).collect();
                prop_assert_eq!(apply(file(&lines, ends), &edits), file(&kept, ends));
            }
        }
    }

    #[test]
    fn the_usual_cases_have_an_answer() {
        let lines: Vec<String> = ["a", "b", "a", "c"].map(str::to_owned).to_vec();
        assert_eq!(append(&lines, "d"), Some(("c".to_owned(), "c\nd".to_owned())));
        assert_eq!(
            remove(&lines, &[1]),
            Some(vec![("b\n".to_owned(), String::new())])
        );
        assert_eq!(
            remove(&lines, &[3]),
            Some(vec![("a\nc".to_owned(), "a".to_owned())])
        );
        assert_eq!(remove(&lines, &[0, 1, 2, 3]), None);
    }

    #[test]
    fn what_fits_twice_only_where_it_overlaps_fits_twice() {
        let text = "\n\n\n\n\n\n\n\na\n\n\n\n\n\n\nb\n\n\na\nb\n\na\nb";
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let edits = remove(&lines, &[16, 21]).expect("there is a way");
        let kept = lines
            .iter()
            .enumerate()
            .filter(|(index, _)| ![16, 21].contains(index));
        let kept: Vec<String> = kept.map(|(_, line)| line.clone()).collect();
        assert_eq!(apply(text.to_owned(), &edits), kept.join("\n"));
    }
}
