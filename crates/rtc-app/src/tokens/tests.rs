use std::sync::atomic::{AtomicI64, Ordering};

use proptest::prelude::*;
use rtc_types::Timestamp;

use super::*;

/// A clock that stands where it is put.
struct Fixed(AtomicI64);

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::Relaxed)).unwrap()
    }

    fn entropy(&self) -> u64 {
        0
    }
}

const START: i64 = 1_800_000_000;
const HOUR: Duration = Duration::from_secs(3600);

struct Place {
    folder: tempfile::TempDir,
    clock: Arc<Fixed>,
}

impl Place {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            clock: Arc::new(Fixed(AtomicI64::new(START))),
        }
    }

    fn tokens(&self) -> Tokens {
        Tokens::open(self.folder.path(), self.clock.clone()).unwrap()
    }

    fn pass(&self, time: i64) {
        self.clock.0.fetch_add(time, Ordering::Relaxed);
    }
}

fn user() -> UserId {
    UserId::new(Uuid::from_u128(1))
}

fn device() -> DeviceId {
    DeviceId::new(Uuid::from_u128(2))
}

fn denied(tokens: &Tokens, token: &str) -> Option<Denied> {
    tokens.check(token, Purpose::Connection).err()
}

/// Signs any header and payload with the right key.
fn signed(tokens: &Tokens, header: &str, payload: &str) -> String {
    let text = format!(
        "{}.{}",
        URL_SAFE_NO_PAD.encode(header),
        URL_SAFE_NO_PAD.encode(payload)
    );
    let signature = hmac::sign(&tokens.0.key, text.as_bytes());
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[test]
fn a_token_says_what_it_was_made_for_also_after_a_restart() {
    let place = Place::new();
    let scopes: Scopes = [Scope::View, Scope::ServeTools].into_iter().collect();
    let token = place.tokens().make(user(), device(), scopes, HOUR);
    let known = place.tokens().check(&token, Purpose::Connection).unwrap();
    let claims = known.claims;
    assert_eq!(
        (claims.user, claims.device, claims.scopes),
        (user(), device(), scopes)
    );
    assert_eq!(claims.expires_in, Some(HOUR));
    assert_eq!(
        denied(&Place::new().tokens(), &token),
        Some(Denied::Invalid),
        "another key"
    );
}

#[test]
fn a_token_is_what_any_reader_of_jwts_expects() {
    let place = Place::new();
    let token = place.tokens().make(user(), device(), Scopes::all(), HOUR);
    let parts: Vec<String> = token
        .split('.')
        .take(2)
        .map(|part| String::from_utf8(URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap())
        .collect();
    let (payload, id) = parts[1].split_once(",\"jti\":").unwrap();
    assert_eq!(id.len(), 39, "{id}");
    insta::assert_snapshot!(format!("{}\n{payload}", parts[0]), @r#"
    {"alg":"HS256","typ":"JWT"}
    {"sub":"00000000-0000-0000-0000-000000000001","device":"00000000-0000-0000-0000-000000000002","scopes":["view","converse","approve","execute","serve-tools"],"aud":"connection","iat":1800000000,"exp":1800003600
    "#);
}

#[test]
fn a_token_ends_by_time() {
    let place = Place::new();
    let tokens = place.tokens();
    let token = tokens.make(user(), device(), Scopes::all(), HOUR);
    place.pass(3599);
    assert_eq!(denied(&tokens, &token), None);
    place.pass(1);
    assert_eq!(denied(&tokens, &token), Some(Denied::Expired));
    let endless = tokens.make(user(), device(), Scopes::all(), Duration::MAX);
    let left = tokens
        .check(&endless, Purpose::Connection)
        .unwrap()
        .claims
        .expires_in;
    assert_eq!(left, Some(TOKEN_TIME), "no token is valid for ever");
}

#[test]
fn what_is_no_token_of_ours_lets_nobody_in() {
    let place = Place::new();
    let tokens = place.tokens();
    let good = tokens.make(user(), device(), Scopes::all(), HOUR);
    let parts: Vec<&str> = good.split('.').collect();
    let (header, payload, signature) = (parts[0], parts[1], parts[2]);
    let text = |part: &str| String::from_utf8(URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
    let hs256 = r#"{"alg":"HS256","typ":"JWT"}"#;
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT"}"#);
    let other_user = URL_SAFE_NO_PAD.encode(text(payload).replacen("000001", "000009", 1));
    let table = [
        ("empty", String::new()),
        ("words", "a token".to_owned()),
        ("dots", "..".to_owned()),
        ("no signature", format!("{header}.{payload}.")),
        (
            "cut signature",
            format!("{header}.{payload}.{}", &signature[..20]),
        ),
        ("alg none without signature", format!("{none}.{payload}.")),
        (
            "alg none with the signature of another",
            format!("{none}.{payload}.{signature}"),
        ),
        (
            "alg none, signed",
            signed(&tokens, r#"{"alg":"none","typ":"JWT"}"#, &text(payload)),
        ),
        (
            "alg HS512, signed",
            signed(&tokens, r#"{"alg":"HS512","typ":"JWT"}"#, &text(payload)),
        ),
        (
            "alg in small letters, signed",
            signed(&tokens, r#"{"alg":"hs256","typ":"JWT"}"#, &text(payload)),
        ),
        (
            "no alg, signed",
            signed(&tokens, r#"{"typ":"JWT"}"#, &text(payload)),
        ),
        ("another user", format!("{header}.{other_user}.{signature}")),
        ("four parts", format!("{good}.x")),
        ("a space", format!(" {good}")),
        ("padding", format!("{good}=")),
        (
            "no end, signed",
            signed(&tokens, hs256, &text(payload).replace("\"exp\"", "\"end\"")),
        ),
        (
            "no purpose, signed",
            signed(&tokens, hs256, &text(payload).replace("\"aud\"", "\"for\"")),
        ),
        (
            "too long, signed",
            signed(
                &tokens,
                hs256,
                &format!("{}{}", text(payload), " ".repeat(TOKEN_BYTES)),
            ),
        ),
    ];
    for (case, token) in table {
        assert_eq!(denied(&tokens, &token), Some(Denied::Invalid), "{case}");
    }
    assert_eq!(
        denied(&tokens, &signed(&tokens, hs256, &text(payload))),
        None,
        "the same by hand"
    );
}

#[test]
fn a_token_is_good_for_its_purpose_only() {
    let place = Place::new();
    let tokens = place.tokens();
    let cookie = tokens.make_for(Purpose::Page, user(), device(), Scopes::all(), HOUR);
    assert_eq!(denied(&tokens, &cookie), Some(Denied::Invalid));
    assert!(tokens.check(&cookie, Purpose::Page).is_ok());
    let token = tokens.make(user(), device(), Scopes::all(), HOUR);
    assert_eq!(tokens.check(&token, Purpose::Page).err(), Some(Denied::Invalid));
}

#[tokio::test]
async fn a_revoked_token_ends_its_connections_and_stays_revoked() {
    let place = Place::new();
    let (tokens, elsewhere) = (place.tokens(), place.tokens());
    let make = || tokens.make(user(), device(), Scopes::all(), HOUR);
    let (here, there, other) = (make(), make(), make());
    let connection = |token: &str| tokens.check(token, Purpose::Connection).unwrap().claims.revoked;
    let (first, second, third) = (connection(&here), connection(&there), connection(&other));

    tokens.revoke(&here).await.unwrap();
    assert!(first.is_cancelled());
    assert_eq!(denied(&tokens, &here), Some(Denied::Revoked));

    elsewhere.revoke(&there).await.unwrap();
    assert!(!second.is_cancelled());
    assert_eq!(
        denied(&tokens, &there),
        Some(Denied::Revoked),
        "another process's word is heard"
    );
    assert!(second.is_cancelled());

    let later = place.tokens();
    assert_eq!(denied(&later, &here), Some(Denied::Revoked));
    assert_eq!(denied(&later, &there), Some(Denied::Revoked));
    assert_eq!(denied(&later, &other), None);
    assert!(!third.is_cancelled());
    later.revoke(&here).await.unwrap();
    let error = later.revoke("a.b.c").await.unwrap_err();
    insta::assert_snapshot!(error, @"the token is not valid, or it was made by another installation; name its data folder with --data");
}

#[tokio::test(start_paused = true)]
async fn a_connection_ends_when_another_process_revokes_its_token() {
    let place = Place::new();
    let (tokens, elsewhere) = (place.tokens(), place.tokens());
    let token = tokens.make(user(), device(), Scopes::all(), HOUR);
    let connection = tokens.check(&token, Purpose::Connection).unwrap().claims.revoked;
    elsewhere.revoke(&token).await.unwrap();
    tokio::select! {
        () = connection.cancelled() => {}
        () = tokens.watch() => {}
    }
}

#[tokio::test]
async fn a_line_that_was_not_written_whole_harms_no_other() {
    let place = Place::new();
    let tokens = place.tokens();
    let make = || tokens.make(user(), device(), Scopes::all(), HOUR);
    let (one, two) = (make(), make());
    tokens.revoke(&one).await.unwrap();
    let file = place.folder.path().join("revoked");
    let mut text = std::fs::read_to_string(&file).unwrap();
    text.push_str("\n0123");
    std::fs::write(&file, text).unwrap();
    tokens.revoke(&two).await.unwrap();
    let later = place.tokens();
    assert_eq!(
        [denied(&later, &one), denied(&later, &two)],
        [Some(Denied::Revoked); 2]
    );
}

#[tokio::test]
async fn a_list_that_cannot_be_read_or_is_full_is_told() {
    let place = Place::new();
    let tokens = place.tokens();
    let token = tokens.make(user(), device(), Scopes::all(), HOUR);
    let file = place.folder.path().join("revoked");
    std::fs::write(&file, " ".repeat(1 << 20)).unwrap();
    assert!(tokens.revoke(&token).await.is_err());
    assert_eq!(denied(&tokens, &token), None);
    std::fs::write(&file, " ".repeat((1 << 20) + 1)).unwrap();
    assert_eq!(
        denied(&tokens, &token),
        Some(Denied::Invalid),
        "in doubt nobody gets in"
    );
}

#[test]
fn the_key_is_for_its_owner_and_a_damaged_one_is_told() {
    let place = Place::new();
    place.tokens();
    let key = place.folder.path().join(KEY);
    assert_eq!(std::fs::read(&key).unwrap().len(), KEY_BYTES);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&key).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    std::fs::write(&key, "short").unwrap();
    let error = Tokens::open(place.folder.path(), place.clock.clone())
        .err()
        .unwrap();
    let told = error
        .to_string()
        .replace(&place.folder.path().display().to_string(), "DIR");
    insta::assert_snapshot!(told, @"DIR/token.key is damaged; restore the file, or remove it: then a new one is made, and the tokens made so far are no longer valid");
}

proptest! {
    #[test]
    fn a_changed_token_lets_nobody_in(at in 0usize..400, byte in proptest::char::range(' ', '~')) {
        let place = Place::new();
        let tokens = place.tokens();
        let good = tokens.make(user(), device(), Scopes::all(), HOUR);
        let at = at % good.len();
        let mut changed = good.clone();
        changed.replace_range(at..=at, &byte.to_string());
        prop_assume!(changed != good);
        prop_assert_eq!(denied(&tokens, &changed), Some(Denied::Invalid));
    }

    #[test]
    fn any_text_is_refused_without_harm(text in "\\PC{0,300}") {
        prop_assert_eq!(denied(&Place::new().tokens(), &text), Some(Denied::Invalid));
    }
}
