//! Which requests are answered: names, origins, credentials, and what every answer carries.

use rtc_tests::serving::Serving;
use rtc_tests::{Workplace, repository};
use serde_json::Value;

use crate::client::{Answer, Client, request};

/// The cookie that an answer sets, as it is sent back.
fn cookie(answer: &Answer) -> String {
    let set = answer.header("set-cookie").expect("a cookie");
    set.split(';').next().expect("a cookie has a value").to_owned()
}

#[test]
fn nothing_but_the_health_is_told_without_a_credential() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let bearer = format!("Bearer {}", serving.token());
    let table = [
        ("GET /healthz", &[][..], 200),
        ("GET /readyz", &[], 200),
        ("GET /", &[], 401),
        ("GET /any/where", &[], 401),
        ("GET /instance.json", &[], 401),
        ("POST /auth/token", &[], 401),
        ("POST /auth/token", &[("Authorization", &*bearer)], 401),
        ("GET /open", &[], 401),
        ("GET /open?code=", &[], 401),
        ("GET /open?code=guess", &[], 401),
        ("GET /", &[("Authorization", "Bearer guess")], 401),
        ("GET /any/where", &[("Authorization", &*bearer)], 404),
        ("GET /connection/websocket", &[], 400),
        ("POST /connection/websocket", &[], 405),
    ];
    for (line, headers, status) in table {
        let answer = request(serving.port(), line, headers);
        assert_eq!(answer.status, status, "{line} {headers:?}: {}", answer.body);
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            (
                "content-security-policy",
                "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                 font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            ),
        ] {
            assert_eq!(answer.header(name), Some(value), "{name} of {line}");
        }
    }
}

#[test]
fn other_names_and_other_origins_are_refused() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let port = serving.port();
    let (own, local, other) = (
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("evil.example:{port}"),
    );
    let (own_origin, local_origin, other_origin) = (
        format!("http://{own}"),
        format!("http://{local}"),
        format!("http://{other}"),
    );
    let table = [
        (&*own, None, true),
        (&*local, None, true),
        (&*other, None, false),
        ("127.0.0.1", None, false),
        (&*own, Some(&*own_origin), true),
        (&*local, Some(&*local_origin), true),
        (&*own, Some(&*other_origin), false),
        (&*other, Some(&*other_origin), false),
        (&*own, Some("null"), false),
        (&*own, Some("https://evil.example"), false),
    ];
    for (host, origin, is_answered) in table {
        let mut headers = vec![("Host", host)];
        headers.extend(origin.map(|origin| ("Origin", origin)));
        let status = request(port, "GET /healthz", &headers).status;
        assert_eq!(status, if is_answered { 200 } else { 403 }, "{host} {origin:?}");
        let mut headers = vec![("host", host)];
        headers.extend(origin.map(|origin| ("origin", origin)));
        let opened = Client::try_open(port, &headers).err();
        assert_eq!(
            opened,
            (!is_answered).then_some(403),
            "WebSocket, {host} {origin:?}"
        );
    }
}

#[test]
fn the_printed_address_signs_one_browser_in() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let line = format!("GET {}", serving.path());
    let opened = request(serving.port(), &line, &[]);
    assert_eq!(
        (opened.status, opened.header("location")),
        (303, Some("/")),
        "{opened:?}"
    );
    let set = opened.header("set-cookie").expect("a cookie");
    assert!(
        set.ends_with("; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict"),
        "{set}"
    );
    let again = request(serving.port(), &line, &[]);
    assert_eq!(
        (again.status, again.header("set-cookie")),
        (401, None),
        "{again:?}"
    );
    assert!(
        again.body.contains("start `rtc-headless serve` again"),
        "{again:?}"
    );

    let cookie = format!("theme=dark; {}", cookie(&opened));
    let signed_in = [("Cookie", &*cookie)];
    let again = request(serving.port(), &line, &signed_in);
    assert_eq!(
        (again.status, again.header("location"), again.header("set-cookie")),
        (303, Some("/"), None),
        "the same browser may open the address again: {again:?}"
    );
    let told = request(serving.port(), "POST /auth/token", &signed_in);
    assert_eq!(told.status, 200, "{told:?}");
    let told: Value = serde_json::from_str(&told.body).expect("JSON");
    assert_eq!(told["user_id"], serving.ready["user_id"]);
    Client::connected(serving.port(), told["token"].as_str().expect("a token"));

    let (_, value) = cookie.rsplit_once('=').expect("a cookie has a value");
    let heard = format!("{:?}", Client::open(serving.port()).connect(value));
    assert!(heard.contains("3500"), "a cookie is no token: {heard}");
    let elsewhere = [("Cookie", &*cookie), ("Origin", "http://evil.example")];
    assert_eq!(
        request(serving.port(), "POST /auth/token", &elsewhere).status,
        403
    );

    serving.stop();
    let later = Serving::start(&place, &[]);
    let told = request(later.port(), "POST /auth/token", &signed_in);
    assert_eq!(told.status, 200, "the browser stays signed in");
    assert_eq!(
        request(later.port(), &line, &[]).status,
        401,
        "the code of before is no longer one"
    );
}

#[test]
fn the_page_is_served_or_said_to_be_missing() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let bearer = format!("Bearer {}", serving.token());
    let ask = |line: &str, more: &[(&str, &str)]| {
        let mut headers = vec![("Authorization", &*bearer)];
        headers.extend(more);
        request(serving.port(), line, &headers)
    };
    let index = ask("GET /", &[]);
    if !repository().join("ui/dist/index.html").is_file() {
        assert_eq!(index.status, 404);
        assert!(index.body.contains("This build has no page"), "{index:?}");
        return;
    }
    let about = |answer: &Answer| {
        let header = |name| answer.header(name).unwrap_or_default().to_owned();
        (answer.status, header("content-type"), header("cache-control"))
    };
    let same = (
        "text/html; charset=utf-8".to_owned(),
        "private, no-cache".to_owned(),
    );
    assert_eq!(about(&index), (200, same.0, same.1));
    let tag = index.header("etag").expect("a tag");
    let known = ask("GET /", &[("If-None-Match", tag)]);
    assert_eq!((known.status, &*known.body), (304, ""));
    let names = index.body.split('"').filter(|part| part.starts_with("/assets/"));
    let mut kinds = Vec::new();
    for name in names {
        let asset = ask(&format!("GET {name}"), &[]);
        let (status, kind, caching) = about(&asset);
        assert_eq!(
            (status, &*caching),
            (200, "private, max-age=31536000, immutable"),
            "{name}"
        );
        assert!(!asset.body.is_empty(), "{name}");
        kinds.push(kind);
        assert_eq!(
            request(serving.port(), &format!("GET {name}"), &[]).status,
            401,
            "{name}"
        );
    }
    kinds.sort();
    kinds.dedup();
    assert_eq!(
        kinds,
        ["text/css; charset=utf-8", "text/javascript; charset=utf-8"]
    );
    for missing in [
        "GET /assets/none.js",
        "GET /index.html",
        "GET /assets/../index.html",
    ] {
        assert_eq!(ask(missing, &[]).status, 404, "{missing}");
    }
}

#[test]
fn without_a_page_there_is_nothing_to_sign_in_to() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &["--no-ui"]);
    assert_eq!(serving.path(), "/");
    let bearer = format!("Bearer {}", serving.token());
    let known = [("Authorization", &*bearer)];
    for (line, headers, status) in [
        ("GET /", &[][..], 401),
        ("GET /", &known, 404),
        ("GET /open?code=x", &[], 404),
        ("POST /auth/token", &[], 404),
        ("GET /healthz", &[], 200),
    ] {
        assert_eq!(
            request(serving.port(), line, headers).status,
            status,
            "{line} {headers:?}"
        );
    }
    Client::connected(serving.port(), serving.token());
}
