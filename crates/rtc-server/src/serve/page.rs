//! The page that a browser shows.

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// The routes of the page's files: none, this build has no page.
pub(super) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
}

/// What is told where there is nothing.
pub(super) async fn missing() -> Response {
    let words = "there is no page here: this program serves clients at /connection/websocket\n";
    (StatusCode::NOT_FOUND, words).into_response()
}
