//! The decoder of frames under what a client could send by mistake or by intent: golden frames, changed at random in ways
//! that know the grammar. It runs on stable, with the same seed each time, for a moment; `cargo xtask fuzz` runs it for
//! as long as one likes, with another seed each time.

use std::time::{Duration, Instant};

use fastrand::Rng;
use rtc_wire::centrifuge::{
    COMMANDS_PER_FRAME, Command, FRAME_BYTES, FrameError, Method, Outcome, PushEvent, Reply,
    VALUES_PER_FRAME, decode, decode_replies, encode, encode_commands,
};

const COMMANDS: &str = include_str!("../golden/centrifuge/commands.ndjson");
const REPLIES: &str = include_str!("../golden/centrifuge/replies.ndjson");

/// How many frames the short run has, and how many changes one frame has at most.
const FRAMES: u64 = 10_000;
const CHANGES: usize = 6;

/// The seed of the short run.
const SEED: u64 = 20_26_11_30;

/// What no frame may take, not even the largest in an unoptimised build. Far more than any does: it tells a time that
/// grows faster than the frame.
const LONGEST: Duration = Duration::from_secs(10);

/// What stands in frames, and what stands in none.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\n",
    "\r\n",
    " ",
    "\t",
    "{}",
    "[]",
    "\"\"",
    "null",
    "true",
    "false",
    "0",
    "-0",
    "-1",
    "1",
    "0.1",
    "1e2",
    "1E+400",
    "-1e-400",
    "2.2250738585072014e-308",
    "9007199254740993",
    "4294967295",
    "4294967296",
    "2147483648",
    "-2147483649",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "123456789012345678901234567890.5",
    "NaN",
    "Infinity",
    "01",
    "1.",
    ".5",
    "0x1",
    "\\u0000",
    "\\ud800",
    "\\udc00",
    "\\ud83d\\ude00",
    "\\u12",
    "\\x",
    "\u{0}",
    "\u{feff}",
    "\u{2028}",
    "é",
    "😀",
    "\"id\":",
    "\"id\":0,",
    "\"id\":1,",
    "\"\":",
    "\"channel\":",
    "\"data\":",
    "\"offset\":",
    "\"epoch\":",
    "\"publications\":",
    "\"nodes\":[",
    "\"error\":",
    "\"code\":",
    "\"push\":",
    "\"token\":",
    "\"subs\":",
];

/// A frame that is a golden one but for some changes.
fn frame(random: &mut Rng) -> String {
    let corpus = if random.bool() { COMMANDS } else { REPLIES };
    let lines: Vec<&str> = corpus.lines().collect();
    let mut bytes = Vec::new();
    for number in 0..random.usize(1..4) {
        if number > 0 {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(lines[random.usize(..lines.len())].as_bytes());
    }
    for _ in 0..random.usize(..=CHANGES) {
        change(random, &mut bytes, &lines);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn change(random: &mut Rng, bytes: &mut Vec<u8>, lines: &[&str]) {
    let at = random.usize(..=bytes.len());
    let until = random.usize(at..=bytes.len().min(at + 24));
    let names = [Method::NAMES, Outcome::NAMES, PushEvent::NAMES];
    match random.u8(..8) {
        0 => drop(bytes.drain(at..until)),
        1 => {
            let piece = bytes[at..until].to_vec();
            bytes.splice(at..at, piece);
        }
        2 if at < bytes.len() => bytes[at] ^= 1 << random.u8(..8),
        3 => {
            let names = names[random.usize(..names.len())];
            let name = format!("\"{}\":", names[random.usize(..names.len())]);
            bytes.splice(at..at, name.into_bytes());
        }
        4 => {
            let depth = random.usize(1..150);
            let open = if random.bool() { "[" } else { "{\"a\":" };
            let close = if open == "[" { "]" } else { "}" };
            let deep = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            bytes.splice(at..until, deep.into_bytes());
        }
        5 => {
            let other = lines[random.usize(..lines.len())].as_bytes();
            let from = random.usize(..=other.len());
            bytes.splice(at.., other[from..].iter().copied());
        }
        // A number, where one is: the rest of it goes.
        6 => {
            let digits = bytes.iter().position(u8::is_ascii_digit).unwrap_or(at);
            let end = bytes[digits..]
                .iter()
                .position(|byte| !byte.is_ascii_digit())
                .map_or(bytes.len(), |n| digits + n);
            bytes.splice(digits..end, PIECES[random.usize(..PIECES.len())].bytes());
        }
        _ => drop(bytes.splice(at..until, PIECES[random.usize(..PIECES.len())].bytes())),
    }
}

/// Everything that has to hold of a frame, whatever it is.
fn check(frame: &str) {
    let began = Instant::now();
    let commands = decode(frame);
    let replies = decode_replies(frame);
    assert!(
        began.elapsed() < LONGEST,
        "a frame of {} bytes takes too long",
        frame.len()
    );

    if let Ok(commands) = &commands {
        assert!(commands.len() <= COMMANDS_PER_FRAME);
        let written = encode_commands(commands);
        assert!(!written.contains("\n\n"), "an empty line in {written}");
        assert_eq!(
            decode(&written).as_ref(),
            Ok(commands),
            "what is written is read again: {written}"
        );
        assert_eq!(encode_commands(&decode(&written).unwrap()), written);
    }
    if let Ok(replies) = &replies {
        let written = encode(replies);
        assert_eq!(
            decode_replies(&written).as_ref(),
            Ok(replies),
            "what is written is read again: {written}"
        );
    }
    assert_sum(frame, commands, decode, |command: &Command| {
        encode_commands(std::slice::from_ref(command))
    });
    assert_sum(frame, replies, decode_replies, |reply: &Reply| {
        encode(std::slice::from_ref(reply))
    });
}

/// A frame is the sum of its lines: their objects in order, or the first error, at its line.
fn assert_sum<T: PartialEq + std::fmt::Debug>(
    frame: &str,
    whole: Result<Vec<T>, FrameError>,
    decode: impl Fn(&str) -> Result<Vec<T>, FrameError>,
    written: impl Fn(&T) -> String,
) {
    let mut sum = Ok(Vec::new());
    for (text, number) in frame.split('\n').zip(1..) {
        match (decode(text), &mut sum) {
            (Ok(objects), Ok(sum)) => {
                assert!(objects.len() <= 1, "one object a line");
                sum.extend(objects);
            }
            (Err(FrameError::Malformed { reason, .. }), Ok(_)) => {
                sum = Err(FrameError::Malformed { line: number, reason });
            }
            (Err(FrameError::TooDeep { .. }), Ok(_)) => sum = Err(FrameError::TooDeep { line: number }),
            (Err(error), Ok(_)) => panic!("{error} in a line of {} bytes", text.len()),
            (_, Err(_)) => {}
        }
    }
    for object in whole.iter().flatten() {
        assert!(!written(object).contains('\n'), "an object is one line");
    }
    assert_eq!(whole, sum, "of {frame}");
}

#[test]
fn golden_frames_changed_at_random_are_read_or_refused() {
    let seconds: u64 = std::env::var("RTC_FUZZ_SECONDS").map_or(0, |text| text.parse().unwrap());
    let seed = std::env::var("RTC_FUZZ_SEED").map_or(SEED, |text| text.parse().unwrap());
    let until = Instant::now() + Duration::from_secs(seconds);
    let (mut frames, mut read) = (0, 0u64);
    while frames < FRAMES || (seconds > 0 && Instant::now() < until) {
        // Each frame has a seed of its own, so that one can be looked at alone.
        let own = seed.wrapping_add(frames);
        let frame = frame(&mut Rng::with_seed(own));
        let checked = std::panic::catch_unwind(|| check(&frame));
        assert!(checked.is_ok(), "RTC_FUZZ_SEED={own}: {frame:?}");
        read += u64::from(decode(&frame).is_ok());
        frames += 1;
    }
    println!("{frames} frames from seed {seed}, {read} of them read as commands");
    // Neither nearly all nor nearly none: what is changed is still near to what is right.
    assert!((frames / 20..frames / 2).contains(&read), "{read} of {frames}");
}

#[test]
fn the_largest_frames_are_read_or_refused_in_time() {
    let filled = |head: &str, piece: &str, tail: &str| {
        let room = FRAME_BYTES - head.len() - tail.len();
        format!("{head}{}{tail}", piece.repeat(room / piece.len()))
    };
    let table = [
        ("brackets", filled("", "[", ""), false),
        ("objects", filled("", "{\"a\":", ""), false),
        ("digits", filled(r#"{"send":{"data":"#, "1", "}}"), false),
        (
            "digits of an exponent",
            filled(r#"{"send":{"data":1e-"#, "1", "}}"),
            true,
        ),
        ("quotes", filled("", "\"", ""), false),
        (
            "backslashes",
            filled(r#"{"send":{"data":""#, "\\\\", "\"}}"),
            true,
        ),
        (
            "escapes",
            filled(r#"{"send":{"data":""#, "\\ud83d\\ude00", "\"}}"),
            true,
        ),
        ("one text", filled(r#"{"send":{"data":""#, "é", "\"}}"), true),
        ("values", filled(r#"{"send":{"data":[0"#, ",0", "]}}"), false),
        (
            "the same field",
            filled(r#"{"send":{"data":{"a":0"#, ",\"a\":0", "}}}"),
            false,
        ),
        ("spaces", filled("", " ", "{}"), true),
        ("empty lines", filled("", "\n", "{}"), true),
        ("empty commands", filled("", "{}\n", ""), false),
        ("a name", filled("{\"", "x", "\":1}"), true),
        (
            "conditions",
            filled(r#"{"id":1,"subscribe":{"tf":{"nodes":[{}"#, ",{}", "]}}}"),
            false,
        ),
    ];
    for (what, frame, is_read) in table {
        let began = Instant::now();
        let commands = decode(&frame);
        assert!(began.elapsed() < LONGEST, "{what}: {:?}", began.elapsed());
        assert_eq!(commands.is_ok(), is_read, "{what}: {:?}", commands.err());
    }
    // What is read has no more values than are allowed, so that its size in memory has a bound.
    let most = filled_values(VALUES_PER_FRAME / 2);
    assert!(decode(&most).is_ok());
}

fn filled_values(count: usize) -> String {
    format!(r#"{{"send":{{"data":{{"a":[0{}]}}}}}}"#, ",0".repeat(count))
}
