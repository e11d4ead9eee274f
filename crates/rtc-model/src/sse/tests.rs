use futures::FutureExt;
use proptest::prelude::*;

use super::*;

fn data(pieces: &[&[u8]]) -> Result<Vec<String>, Failure> {
    let pieces: Vec<_> = pieces.iter().map(|piece| Ok(piece.to_vec())).collect();
    let all: Vec<_> = events(stream::iter(pieces).boxed())
        .collect()
        .now_or_never()
        .expect("nothing waits");
    all.into_iter().collect()
}

#[test]
fn events_are_what_they_are_however_they_are_framed() {
    let table: &[(&[u8], &[&str])] = &[
        (b"data: a\n\ndata: b\n\n", &["a", "b"]),
        (b"data:a\r\n\r\ndata:b\r\n\r\n", &["a", "b"]),
        (b"data: a\rdata: b\r\r", &["a\nb"]),
        (b": comment\n\nevent: x\nid: 1\ndata: a\n\n", &["a"]),
        (b"data: a", &["a"]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", &["a"]),
        (b"\xef\xbb\xbf {\"a\":1}", &[" {\"a\":1}"]),
        (b"data: \xff\n\n", &["\u{fffd}"]),
        (b"\n\n", &[]),
        (b"", &[]),
    ];
    for (body, expected) in table {
        for at in 0..=body.len() {
            let (head, tail) = body.split_at(at);
            assert_eq!(
                data(&[head, b"", tail]).unwrap(),
                *expected,
                "{body:?} cut at {at}"
            );
        }
    }
}

#[test]
fn a_page_is_no_reply() {
    let failure = data(&[b" \n<", b"html>"]).unwrap_err();
    assert_eq!(
        (failure.error.code(), failure.again),
        ("model.unreachable", false)
    );
}

#[test]
fn a_line_and_a_body_have_bounds() {
    let line = vec![b'x'; MOST_LINE / 2];
    let fits = [b"data: ".as_slice(), &line, b"\n\n"];
    assert_eq!(data(&fits).unwrap()[0].len(), line.len());
    let too_long = data(&[b"data: ", &line, &line, b"\n\n"]).unwrap_err();
    assert_eq!((too_long.error.code(), too_long.again), ("model.stream", false));
    assert!(data(&[b"{", &line, &line]).is_err());
    let many: Vec<&[u8]> = std::iter::repeat_n([b":".as_slice(), &line, b"\n"], 20)
        .flatten()
        .collect();
    assert!(data(&many).is_err(), "comments count as well");
}

#[tokio::test(start_paused = true)]
async fn comments_alone_keep_no_reply_alive() {
    let pings = || {
        stream::repeat(b": ping\n\n".to_vec()).then(async |piece| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(piece)
        })
    };
    let most = Duration::from_secs(10);
    let told = timely(events(pings().boxed()), most);
    let begun = tokio::time::Instant::now();
    let told: Vec<_> = told.collect().await;
    assert_eq!(begun.elapsed(), most);
    let [Err(failure)] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!((failure.error.code(), failure.again), ("model.stream", true));
    // Each event begins the time anew.
    let word = || stream::iter([Ok(b"data: a\n\n".to_vec())]);
    let body = pings().take(9).chain(word()).chain(pings().take(9)).chain(word());
    let told: Vec<_> = timely(events(body.boxed()), most).collect().await;
    assert_eq!(told, [Ok("a".to_owned()), Ok("a".to_owned())]);
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(body: Vec<u8>, at: proptest::sample::Index) {
        let (head, tail) = body.split_at(at.index(body.len() + 1));
        prop_assert_eq!(data(&[head, tail]), data(&[&body]));
    }
}
