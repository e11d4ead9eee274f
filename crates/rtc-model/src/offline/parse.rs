//! Makes a plan of a request: clauses, phrases, steps.

use regex::Captures;

use super::marks::{
    AFTER, BEFORE, BULLET, CLAUSE_END, CLAUSE_JOIN, CONTINUE, GREETING, IGNORE_CASE, ONLY_IN, ONLY_WHERE,
    SOFTENED, VERB,
};
use super::place::Context;
use super::plan::{Language, MAX_STEPS, Plan, Step};
use super::quotes::Masked;
use super::words::RULES;

mod gaps;

use gaps::Words;

/// The longest clause that is looked at, in bytes; quotations count as one character.
const MAX_CLAUSE: usize = 2_000;

/// The most clauses of one message that are read; the answer says if there were more.
const MAX_CLAUSES: usize = 200;

/// How much of a clause's end is looked at for one polite word, in bytes.
const MAX_AFTER: usize = 64;

/// Whether a message says nothing but: go on.
pub(super) fn is_continue(message: &str) -> bool {
    CONTINUE.is_match(
        message
            .trim()
            .trim_end_matches(['.', '!', '。', '！', '…'])
            .trim(),
    )
}

/// The language of a message: Chinese if it has Chinese characters outside quotations.
fn language(masked: &Masked) -> Language {
    if masked.text.chars().any(is_chinese) {
        Language::Chinese
    } else {
        Language::English
    }
}

fn is_chinese(character: char) -> bool {
    ('\u{4E00}'..='\u{9FFF}').contains(&character) || ('\u{3400}'..='\u{4DBF}').contains(&character)
}

/// Makes one plan of several messages. `context` is what earlier requests were about, and is brought up to date.
pub(super) fn plan(messages: &[&str], context: &mut Context) -> Plan {
    let mut plan = Plan {
        steps: Vec::new(),
        unclear: Vec::new(),
        beyond: 0,
        unread: false,
        language: Language::English,
    };
    for message in messages {
        context.here = None;
        let masked = Masked::new(message.trim());
        if language(&masked) == Language::Chinese {
            plan.language = Language::Chinese;
        }
        let (clauses, more) = clauses(&masked);
        plan.unread |= more;
        for clause in clauses {
            match step(&clause, &masked, context) {
                Some(Step::Help) if plan.steps.contains(&Step::Help) => {}
                Some(step) => {
                    context.here = step.place().or_else(|| context.here.take());
                    context.place = step.place().or_else(|| context.place.take());
                    context.needle = step.needle().or_else(|| context.needle.take());
                    plan.steps.push(step);
                }
                None => plan.unclear.push(masked.shown(&clause)),
            }
        }
    }
    plan.beyond = plan.steps.len().saturating_sub(MAX_STEPS);
    plan.steps.truncate(MAX_STEPS);
    plan
}

/// The clauses of a message that ask for something, and whether there are more than are read. Where the message is cut,
/// what stands before the cut may be a part of a clause, which could mean something else, and is not read.
fn clauses(masked: &Masked) -> (Vec<String>, bool) {
    let text = BULLET.replace_all(&masked.text, "");
    let mut found = Vec::new();
    let mut parts = CLAUSE_END.split(&text).peekable();
    while let Some(part) = parts.next() {
        let mut from = 0;
        for join in CLAUSE_JOIN.find_iter(part) {
            if found.len() > MAX_CLAUSES {
                break;
            }
            let ended = &part[from..join.start().max(from)];
            let ends = || ended.len() > MAX_CLAUSE || !ONLY_WHERE.is_match(&tidy(ended));
            if !ended.is_empty() && VERB.is_match(&part[join.end()..]) && ends() {
                found.extend(asking(ended));
                from = join.end();
            }
        }
        if masked.whole || parts.peek().is_some() {
            found.extend(asking(&part[from..]));
        }
        if found.len() > MAX_CLAUSES {
            break;
        }
    }
    let more = !masked.whole || found.len() > MAX_CLAUSES;
    found.truncate(MAX_CLAUSES);
    (found, more)
}

/// A clause in tidy words, if it asks for something. One that is too long to be understood stays as it is.
fn asking(clause: &str) -> Option<String> {
    let clause = clause.trim();
    if clause.len() > MAX_CLAUSE {
        return Some(clause.to_owned());
    }
    Some(tidy(clause)).filter(|clause| !clause.is_empty() && !GREETING.is_match(clause))
}

/// The first so many bytes of a text, or somewhat less.
pub(super) fn beginning(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

/// The last so many bytes of a text, or somewhat less.
pub(super) fn ending(text: &str, most: usize) -> &str {
    let begin = (text.len().saturating_sub(most)..text.len()).find(|at| text.is_char_boundary(*at));
    &text[begin.unwrap_or(text.len())..]
}

/// A clause without polite words, and with spaces only where they part words.
fn tidy(clause: &str) -> String {
    let mut words = clause.trim();
    loop {
        let before = words.len();
        let end = ending(words, MAX_AFTER);
        if let Some(found) = AFTER.find(end) {
            words = words[..words.len() - end.len() + found.start()].trim();
        }
        if GREETING.is_match(words) {
            return String::new();
        }
        if let Some(found) = BEFORE.find(words) {
            words = words[found.end()..].trim();
        }
        if words.len() == before {
            break;
        }
    }
    let mut tidied = String::with_capacity(words.len());
    let mut characters = words.chars().peekable();
    while let Some(character) = characters.next() {
        if !character.is_whitespace() {
            tidied.push(character);
            continue;
        }
        while characters.next_if(|next| next.is_whitespace()).is_some() {}
        let beside = [tidied.chars().next_back(), characters.peek().copied()];
        if !beside.into_iter().flatten().any(is_chinese) {
            tidied.push(' ');
        }
    }
    let tidied = SOFTENED.replace_all(&tidied, plain_verb);
    ONLY_IN.replace_all(&tidied, " $preposition ").into_owned()
}

fn plain_verb(softened: &Captures<'_>) -> String {
    let verb = &softened["verb"];
    let plain = match verb {
        "看" => "看看",
        "列" => "列出",
        "搜" => "搜索",
        "查" => "查找",
        verb => verb,
    };
    plain.to_owned()
}

/// The step that a clause asks for.
fn step(clause: &str, masked: &Masked, context: &Context) -> Option<Step> {
    if clause.len() > MAX_CLAUSE {
        return None;
    }
    let ignore_case = IGNORE_CASE.is_match(clause);
    let without = IGNORE_CASE.replace(clause, "");
    let clause = if ignore_case { without.trim() } else { clause };
    RULES.iter().find_map(|(meaning, rule)| {
        let words = Words {
            found: rule.captures(clause)?,
            masked,
            context,
            ignore_case,
        };
        let step = words.step(*meaning)?;
        let searches = matches!(step, Step::Search { .. } | Step::Count(..));
        (searches || !ignore_case).then_some(step)
    })
}

#[cfg(test)]
mod tests;
