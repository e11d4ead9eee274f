//! Saving what a person edited: the content is whole, and only what differs from the file is replaced.

use super::*;

impl Project {
    /// Plans to save `content` at `path`, as [`Project::plan_write`] does, but line by line: lines that stay the same keep
    /// their bytes, their line ends included. In the others a lone `\n` becomes the line end that most lines have.
    ///
    /// # Errors
    /// As [`Project::plan_write`].
    pub fn plan_save(
        &self,
        path: &VPath,
        content: &str,
        tag: &str,
        cancel: &CancellationToken,
    ) -> Result<Planned, Error> {
        let found = self.find_file(path, cancel)?;
        let encoding = encoding_of(&found)?;
        // A byte order mark is the file's, not the text's; without a file there is nothing to keep it from.
        let content = match found.identity {
            Some(_) => content.trim_start_matches('\u{feff}'),
            None => content,
        };
        let text = encoding.decode(&found.bytes);
        let spans = vec![differing(&text, content)];
        let diff = diff::unified(&found.path, &text, &spans, CLIPPED);
        let mark = encoding.mark().len();
        let offsets = [spans[0].range.start, spans[0].range.end];
        let raw = encoding.raw_offsets(&found.bytes[mark..], &offsets);
        drop(text);
        let pieces = vec![Piece {
            range: mark + raw[0]..mark + raw[1],
            with: encode(&found.path, encoding, &spans[0].with)?,
        }];
        plan(found, encoding, pieces, Shown { spans, diff }, true, 0, tag)
    }

    /// Plans to make `content` the bytes of the file at `path`, text or not.
    ///
    /// # Errors
    /// As [`Project::plan_write`], without those of encodings.
    pub fn plan_bytes(
        &self,
        path: &VPath,
        content: Vec<u8>,
        tag: &str,
        cancel: &CancellationToken,
    ) -> Result<Planned, Error> {
        let found = self.find_file(path, cancel)?;
        let encoding = match detect(&content, true) {
            Detected::Text(encoding) => encoding,
            Detected::Binary(_) => Encoding::Utf8,
        };
        let pieces = vec![Piece {
            range: 0..found.bytes.len(),
            with: content,
        }];
        let shown = Shown {
            spans: Vec::new(),
            diff: Unified {
                text: String::new(),
                is_whole: false,
            },
        };
        plan(found, encoding, pieces, shown, true, 0, tag)
    }
}

/// The lines of `old` that are others in `new`, and those.
fn differing(old: &str, new: &str) -> Span {
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
    let same = |(old, new): &(&&str, &&str)| without_return(old) == without_return(new);
    let before = old_lines.iter().zip(&new_lines).take_while(same).count();
    let (old_rest, new_rest) = (&old_lines[before..], &new_lines[before..]);
    let after = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(same)
        .count();
    let bytes = |lines: &[&str]| lines.iter().map(|line| line.len()).sum::<usize>();
    let start = bytes(&old_lines[..before]);
    let changed = new_rest[..new_rest.len() - after].concat();
    Span {
        range: start..start + bytes(&old_rest[..old_rest.len() - after]),
        with: LineEnd::dominant(old)
            .unwrap_or(LineEnd::Lf)
            .apply(&changed)
            .into_owned(),
    }
}

/// A line as it is compared: its text, and whether it has an end.
fn without_return(line: &str) -> (&str, bool) {
    match line.strip_suffix('\n') {
        Some(text) => (text.strip_suffix('\r').unwrap_or(text), true),
        None => (line, false),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::walk::tests::{project, vpath, write};

    fn saved(before: &[u8], content: &str) -> Result<Vec<u8>, Error> {
        let (folder, project) = project(&[]);
        write(folder.path(), "f", before);
        let cancel = CancellationToken::new();
        let planned = project.plan_save(&vpath("/f"), content, "t", &cancel)?;
        project.apply(planned, &mut |_| Ok(()), &cancel)?;
        Ok(std::fs::read(folder.path().join("f")).expect("the file is there"))
    }

    #[test]
    fn what_is_not_changed_keeps_its_bytes() {
        let table: &[(&[u8], &str, &[u8])] = &[
            (b"a\r\nb\nc\r\n", "a\nb\nc\n", b"a\r\nb\nc\r\n"),
            (b"a\r\nb\nc\r\n", "a\nB\nc\n", b"a\r\nB\r\nc\r\n"),
            (b"a\nb\r\n", "a\nb\r\n", b"a\nb\r\n"),
            (b"a\nb", "a\nb\n", b"a\nb\n"),
            (b"a\nb\n", "a\nb", b"a\nb"),
            (b"", "x", b"x"),
            (b"x\n", "", b""),
            (b"a\na\na\n", "a\na\n", b"a\na\n"),
            // Latin-1, and UTF-16 with its mark.
            (
                b"caf\xe9 na\xefve\r\nend\r\n",
                "caf\u{e9} na\u{ef}ve\nEnd\n",
                b"caf\xe9 na\xefve\r\nEnd\r\n",
            ),
            (b"\xff\xfea\0\n\0b\0", "a\nB", b"\xff\xfea\0\n\0B\0"),
            (b"\xef\xbb\xbfa\n", "\u{feff}b\n", b"\xef\xbb\xbfb\n"),
        ];
        for (before, content, after) in table {
            let found = saved(before, content).expect("it is saved");
            assert_eq!(found, *after, "{content:?} over {}", before.escape_ascii());
        }
        assert!(matches!(
            saved(b"caf\xe9 na\xefve\n", "\u{4e2d}\n"),
            Err(Error::Unencodable { .. })
        ));
        assert!(matches!(saved(b"\0\x01\x02", "text"), Err(Error::Binary { .. })));
    }

    #[test]
    fn bytes_are_taken_as_they_are() {
        let (folder, project) = project(&[("f", "text\r\n")]);
        let cancel = CancellationToken::new();
        for (path, content) in [("/f", &b"\0\xff\n"[..]), ("/new/f", b""), ("/f", b"again\n")] {
            let planned = project
                .plan_bytes(&vpath(path), content.to_vec(), "t", &cancel)
                .expect("a plan");
            project
                .apply(planned, &mut |_| Ok(()), &cancel)
                .expect("it is written");
            let found = std::fs::read(folder.path().join(&path[1..])).expect("the file is there");
            assert_eq!(found, content, "{path}");
        }
    }

    proptest! {
        #[test]
        fn a_saved_text_is_the_text(
            old in "[ab\u{e9}\r\n]{0,12}",
            new in "[ab\u{e9}\r\n]{0,12}",
        ) {
            let span = differing(&old, &new);
            let mut saved = old.clone();
            saved.replace_range(span.range, &span.with);
            let plain = |text: &str| text.replace("\r\n", "\n");
            prop_assert_eq!(plain(&saved), plain(&new));
        }
    }
}
