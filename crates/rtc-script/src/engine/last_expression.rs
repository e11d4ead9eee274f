//! Finds the expression at the end of a script, whose value is the result if there is no `return`.
//!
//! The engine decides what is JavaScript; this module only tells where a last statement may begin, so that the engine
//! is asked about those places alone.

/// Places that are tried at most.
const MAX_CANDIDATES: usize = 24;

/// Code that the engine reads for this at most, in bytes: 12 MiB.
pub(super) const MAX_TRIED_BYTES: usize = 12 << 20;

/// A part of the code that may be the last statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) start: usize,
    end: usize,
}

impl Candidate {
    /// The code with this part as its result; every line stays where it is.
    pub(super) fn returned(&self, code: &str) -> String {
        format!(
            "{}return ({}\n)",
            &code[..self.start],
            &code[self.start..self.end]
        )
    }
}

/// Words that begin a statement which has no value of its own.
const STATEMENTS: &[&str] = &[
    "function",
    "class",
    "const",
    "let",
    "var",
    "if",
    "else",
    "for",
    "while",
    "do",
    "switch",
    "case",
    "default",
    "try",
    "catch",
    "finally",
    "throw",
    "return",
    "break",
    "continue",
    "import",
    "export",
    "debugger",
    "with",
    "in",
    "instanceof",
];

/// Words after which a `/` begins a regular expression.
const BEFORE_EXPRESSIONS: &[&str] = &[
    "return",
    "typeof",
    "instanceof",
    "in",
    "of",
    "new",
    "delete",
    "void",
    "throw",
    "case",
    "do",
    "else",
    "await",
    "yield",
];

/// Where the last statement may begin, the latest first.
pub(super) fn candidates(code: &str) -> Vec<Candidate> {
    let mut lexer = Lexer::new(code);
    let mut starts = Vec::new();
    let mut end = 0;
    // Whether a statement may begin at the next token: for sure, or only perhaps, at the end of a line.
    let (mut may_begin, mut surely) = (true, true);
    while let Some(token) = lexer.next() {
        let text = &code[token.start..token.end];
        let begins = may_begin || token.after_line_end;
        if token.depth == 0
            && begins
            && text != ";"
            && (surely && may_begin || may_follow_line_end(&code[token.start..]))
        {
            let is_async_function = text == "async" && code[token.end..].trim_start().starts_with("function");
            if !STATEMENTS.contains(&text) && !is_async_function {
                starts.push(token.start);
            }
        }
        if text != ";" {
            end = token.end;
        }
        may_begin = token.depth == 0 && matches!(text, ";" | "}");
        surely = text == ";";
    }
    starts
        .into_iter()
        .rev()
        .filter(|start| *start < end)
        .take(MAX_CANDIDATES)
        .map(|start| Candidate { start, end })
        .collect()
}

/// Whether what is behind a line end can be a statement of its own, and does not go on with the line before.
fn may_follow_line_end(rest: &str) -> bool {
    if rest.starts_with("++") || rest.starts_with("--") {
        return true;
    }
    if rest.starts_with('!') {
        return !rest.starts_with("!=");
    }
    !rest.starts_with(|c: char| "([`+-*/%,.?:&|^<>=)]}".contains(c))
}

/// A token, as far as it matters here.
struct Token {
    start: usize,
    end: usize,
    /// Open brackets around it; an opening bracket is outside of itself, and so is a closing one.
    depth: usize,
    after_line_end: bool,
}

struct Lexer<'c> {
    code: &'c str,
    at: usize,
    /// Open brackets; `` ` `` for the `${` of a template.
    open: Vec<u8>,
    /// Whether a `/` would begin a regular expression.
    expects_expression: bool,
}

impl<'c> Lexer<'c> {
    fn new(code: &'c str) -> Self {
        Self {
            code,
            at: 0,
            open: Vec::new(),
            expects_expression: true,
        }
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.code.as_bytes().get(self.at + ahead).copied()
    }

    /// Skips space and comments; whether a line ended in them.
    fn skip(&mut self) -> bool {
        let mut line_end = false;
        while let Some(c) = self.code[self.at..].chars().next() {
            let rest = &self.code[self.at..];
            if c.is_whitespace() || c == '\u{feff}' {
                line_end |= matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}');
                self.at += c.len_utf8();
            } else if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                let length = rest.find("*/").map_or(rest.len(), |end| end + 2);
                line_end |= rest[..length].contains('\n');
                self.at += length;
            } else {
                break;
            }
        }
        line_end
    }

    fn next(&mut self) -> Option<Token> {
        let after_line_end = self.skip();
        let start = self.at;
        let first = self.byte(0)?;
        let mut depth = self.open.len();
        match first {
            b'"' | b'\'' => self.string(first),
            b'`' => self.template(),
            b'/' if self.expects_expression => self.regular_expression(),
            b'(' | b'[' | b'{' => {
                self.open.push(first);
                self.at += 1;
                self.expects_expression = true;
            }
            b')' | b']' | b'}' => {
                self.at += 1;
                let opened = self.open.pop();
                depth = self.open.len();
                if first == b'}' && opened == Some(b'`') {
                    self.template_rest();
                } else {
                    // Behind a block a statement may begin; behind an object it may not, which is rare in front of `/`.
                    self.expects_expression = first == b'}';
                }
            }
            _ => self.word(),
        }
        Some(Token {
            start,
            end: self.at,
            depth,
            after_line_end,
        })
    }

    fn string(&mut self, quote: u8) {
        self.at += 1;
        while let Some(byte) = self.byte(0) {
            match byte {
                b'\\' => self.escaped(),
                b'\n' => break,
                _ if byte == quote => {
                    self.at += 1;
                    break;
                }
                _ => self.at += 1,
            }
        }
        self.expects_expression = false;
    }

    /// A backslash and the character behind it.
    fn escaped(&mut self) {
        self.at += 1;
        self.at += self.code[self.at..].chars().next().map_or(0, char::len_utf8);
    }

    fn template(&mut self) {
        self.at += 1;
        self.template_rest();
    }

    /// The text of a template up to its end or to the next `${`.
    fn template_rest(&mut self) {
        self.expects_expression = false;
        while let Some(byte) = self.byte(0) {
            match byte {
                b'\\' => self.escaped(),
                b'`' => {
                    self.at += 1;
                    return;
                }
                b'$' if self.byte(1) == Some(b'{') => {
                    self.at += 2;
                    self.open.push(b'`');
                    self.expects_expression = true;
                    return;
                }
                _ => self.at += 1,
            }
        }
    }

    fn regular_expression(&mut self) {
        self.at += 1;
        let mut in_class = false;
        while let Some(byte) = self.byte(0) {
            match byte {
                b'\\' => {
                    self.escaped();
                    continue;
                }
                b'\n' => break,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => {
                    self.at += 1;
                    break;
                }
                _ => {}
            }
            self.at += 1;
        }
        self.expects_expression = false;
    }

    /// A name, a number, or one character of anything else.
    fn word(&mut self) {
        let rest = &self.code[self.at..];
        let length = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$' || c == '\\'))
            .unwrap_or(rest.len());
        if length > 0 {
            let word = &rest[..length];
            self.expects_expression = BEFORE_EXPRESSIONS.contains(&word);
            self.at += length;
            return;
        }
        let is_step = rest.starts_with("++") || rest.starts_with("--");
        self.at += if is_step {
            2
        } else {
            rest.chars().next().map_or(0, char::len_utf8)
        };
        self.expects_expression = !is_step;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The places, latest first, as the text that begins there.
    fn places(code: &str) -> Vec<&str> {
        candidates(code)
            .into_iter()
            .map(|place| &code[place.start..place.end])
            .collect()
    }

    #[test]
    fn statements_begin_behind_semicolons_blocks_and_line_ends() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            (";;", &[]),
            ("1 + 1", &["1 + 1"]),
            ("1;", &["1"]),
            ("const a = 1; a", &["a"]),
            ("const a = 1\na // why; b\n", &["a"]),
            ("a\n  .b()\n  .c()", &["a\n  .b()\n  .c()"]),
            ("f(\n1,\n2)", &["f(\n1,\n2)"]),
            ("a = `x;\n${b;\nc}` + 1\nd", &["d", "a = `x;\n${b;\nc}` + 1\nd"]),
            ("x = 'a; b'; y", &["y", "x = 'a; b'; y"]),
            ("x = /[/;]/.test(y); z", &["z", "x = /[/;]/.test(y); z"]),
            ("a / b; c / d", &["c / d", "a / b; c / d"]),
            ("if (a) { b }\nc", &["c"]),
            ("if (a) { b } (c)", &[]),
            ("a\n(b)", &["a\n(b)"]),
            ("a;\n(b)", &["(b)", "a;\n(b)"]),
            ("a\n++b", &["++b", "a\n++b"]),
            ("f()\nfunction f() {}", &["f()\nfunction f() {}"]),
            ("f()\nasync function f() {}", &["f()\nasync function f() {}"]),
            ("/* a;\n b */ c", &["c"]),
            ("({ a: 1 })", &["({ a: 1 })"]),
        ];
        for (code, expected) in table {
            assert_eq!(&places(code), expected, "{code}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_places_within_it(code in "(a|;|\\{|\\}|\\(|\\)|`|\\$\\{|'|\"|/|\\*|\n|漢|\\\\|=| ){0,60}") {
            for place in candidates(&code) {
                prop_assert!(place.start < place.end && place.end <= code.len());
                let returned = place.returned(&code);
                prop_assert!(returned.starts_with(&code[..place.start]));
            }
        }
    }
}
