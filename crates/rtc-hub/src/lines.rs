//! Lines of bounded length over a pipe.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

use crate::Error;

/// The longest frame, in bytes: 32 MiB. A longer one is never sent; receiving one closes the connection.
pub const MAX_FRAME_BYTES: usize = 32 << 20;

/// The longest frame with a question of a running tool, in bytes: 16 MiB. Some of them may wait at a time.
pub const MAX_HOST_CALL_BYTES: usize = 16 << 20;
/// The most values in the JSON of a frame with a question: each takes far more memory than text, up to 40 times as much.
pub const MAX_HOST_CALL_VALUES: usize = 100_000;
/// How much room for a line is kept for the next one, in bytes: 64 KiB.
const KEPT_BYTES: usize = 64 << 10;

/// How many values a JSON text has, names of fields included, without making any: never too few for a text that is JSON.
pub fn count_values(json: &[u8]) -> usize {
    let mut count = 1;
    let mut rest = json.iter();
    while let Some(byte) = rest.next() {
        match byte {
            // What stands in a text is none.
            b'"' => {
                while let Some(byte) = rest.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => drop(rest.next()),
                        _ => {}
                    }
                }
            }
            b',' | b':' | b'[' | b'{' => count += 1,
            _ => {}
        }
    }
    count
}

/// Reads the next line into `line`, without its line end. `false` at the end of the pipe.
pub(crate) async fn read(
    reader: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> Result<bool, Error> {
    line.clear();
    line.shrink_to(KEPT_BYTES);
    loop {
        let available = reader
            .fill_buf()
            .await
            .map_err(|error| Error::Pipe(error.to_string()))?;
        if available.is_empty() {
            // Half a line is what a process leaves that was killed while it wrote: it ends like any other.
            return Ok(false);
        }
        let (taken, ended) = match available.iter().position(|&byte| byte == b'\n') {
            Some(end) => (end, true),
            None => (available.len(), false),
        };
        if line.len() + taken > MAX_FRAME_BYTES {
            return Err(Error::Protocol(format!(
                "a frame has more than {MAX_FRAME_BYTES} bytes"
            )));
        }
        line.extend_from_slice(&available[..taken]);
        reader.consume(taken + usize::from(ended));
        if ended {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::BufReader;

    use super::*;

    #[test]
    fn values_are_counted_without_being_made() {
        for (json, count) in [
            ("1", 1),
            ("[1,2,3]", 4),
            (r#"{"a":1,"b":[true,null]}"#, 7),
            (r#"["a,b:[{","\\",",\"[,"]"#, 4),
            // One too many.
            ("[]", 2),
        ] {
            assert!(serde_json::from_str::<serde_json::Value>(json).is_ok(), "{json}");
            assert_eq!(count_values(json.as_bytes()), count, "{json}");
        }
    }

    #[tokio::test]
    async fn lines_come_whole_however_they_are_cut() {
        let text: &[u8] = b"one\n\ntwo three\nhalf";
        for capacity in 1..20 {
            let mut reader = BufReader::with_capacity(capacity, text);
            let (mut line, mut lines) = (Vec::new(), Vec::new());
            while read(&mut reader, &mut line).await.unwrap() {
                lines.push(String::from_utf8(line.clone()).unwrap());
            }
            assert_eq!(lines, ["one", "", "two three"], "{capacity}");
        }
    }

    #[tokio::test]
    async fn a_line_ends_at_the_bound() {
        let mut text = vec![b'x'; MAX_FRAME_BYTES];
        text.push(b'\n');
        assert!(
            read(&mut BufReader::new(&text[..]), &mut Vec::new())
                .await
                .unwrap()
        );
        text.insert(0, b'x');
        let error = read(&mut BufReader::new(&text[..]), &mut Vec::new())
            .await
            .unwrap_err();
        assert!(matches!(error, Error::Protocol(_)));
    }

    #[tokio::test]
    async fn the_room_of_a_long_line_is_given_back() {
        let text = "x".repeat(1 << 20) + "\nshort\n";
        let mut reader = BufReader::new(text.as_bytes());
        let mut line = Vec::new();
        assert!(read(&mut reader, &mut line).await.unwrap());
        assert!(line.capacity() >= 1 << 20);
        assert!(read(&mut reader, &mut line).await.unwrap());
        assert_eq!((&line[..], line.capacity() <= KEPT_BYTES), (&b"short"[..], true));
    }
}
