//! The page that a browser shows: the built files of `ui/`, which are part of the binary, and a few words where there
//! is nothing else to show.

use axum::Router;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};

/// Paths and contents; none where the page was not built before the program.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page_files.rs"));

/// What lies here has its content in its name, and never changes.
const HASHED: &str = "/assets/";

const INDEX: &str = "/index.html";

/// The routes of the page's files.
pub(super) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    FILES.iter().fold(Router::new(), |router, &(path, content)| {
        let route = if path == INDEX { "/" } else { path };
        if path.starts_with(HASHED) {
            return router.route(route, get(move || async move { hashed(path, content) }));
        }
        let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(digest(&SHA256, content)));
        router.route(
            route,
            get(move |headers: HeaderMap| async move { tagged(path, content, &tag, &headers) }),
        )
    })
}

fn hashed(path: &str, content: &'static [u8]) -> Response {
    let headers = [
        (CONTENT_TYPE, content_type(path)),
        (CACHE_CONTROL, "private, max-age=31536000, immutable"),
    ];
    (headers, content).into_response()
}

/// A file that the next build changes under the same name: the browser asks each time whether it still is the same.
fn tagged(path: &str, content: &'static [u8], tag: &str, headers: &HeaderMap) -> Response {
    let is_known = headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|known| known.to_str().ok())
        .flat_map(|known| known.split(','))
        .any(|known| known.trim().trim_start_matches("W/") == tag);
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => ([(CONTENT_TYPE, content_type(path))], content).into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(ETAG, tag);
    }
    response
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

/// What is told where there is nothing.
pub(super) async fn missing() -> Response {
    if FILES.is_empty() {
        let words = "It was built without: `npm ci` and `npm run build` in `ui/`, then build `rtc-headless` again. \
                     Clients connect at /connection/websocket all the same.";
        return told(StatusCode::NOT_FOUND, "This build has no page", words);
    }
    told(
        StatusCode::NOT_FOUND,
        "There is nothing at this address",
        "The page is at /.",
    )
}

/// A few words for whoever sits before the browser. They contain nothing that came from outside.
pub(super) fn told(status: StatusCode, title: &str, words: &str) -> Response {
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} – RTC Desktop</title>\n<h1>{title}</h1>\n<p>{words}</p>\n</html>\n"
    );
    (status, [(CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_the_browser_has_is_not_sent_again() {
        let table = [
            (None, StatusCode::OK),
            (Some("\"other\""), StatusCode::OK),
            (Some("\"tag\""), StatusCode::NOT_MODIFIED),
            (Some("\"other\", W/\"tag\""), StatusCode::NOT_MODIFIED),
        ];
        for (known, status) in table {
            let mut headers = HeaderMap::new();
            headers.extend(known.map(|known| (IF_NONE_MATCH, HeaderValue::from_static(known))));
            let response = tagged("/index.html", b"content", "\"tag\"", &headers);
            assert_eq!(response.status(), status, "{known:?}");
            assert_eq!(response.headers()[ETAG], "\"tag\"");
            assert_eq!(response.headers()[CACHE_CONTROL], "private, no-cache");
        }
    }

    #[test]
    fn every_file_has_a_type_that_browsers_take() {
        for (path, content) in FILES {
            assert_ne!(content_type(path), "application/octet-stream", "{path}");
            assert!(!content.is_empty(), "{path}");
        }
    }
}
