//! How a browser signs in: a code that is good for one time gives it a cookie, the cookie gives it short tokens.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::header::{COOKIE, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{Digest, SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use rtc_app::{Purpose, Tokens};
use rtc_realtime::Scopes;
use rtc_types::{DeviceId, UserId};
use serde_json::json;

use super::page;

/// How long a browser stays signed in.
const COOKIE_TIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How long a token of the page is valid; it gets the next one by itself.
const PAGE_TOKEN_TIME: Duration = Duration::from_secs(10 * 60);

/// How long the code is, in bytes before it is written as text.
const CODE_BYTES: usize = 32;

/// Signs browsers in.
pub(super) struct SignIn {
    tokens: Tokens,
    user: UserId,
    device: DeviceId,
    code: String,
    /// Of the code; nothing once it was used. Digests are compared, so that the time it takes tells nothing of the code.
    unused: Mutex<Option<Digest>>,
}

impl SignIn {
    /// With a new code.
    pub(super) fn new(tokens: Tokens, user: UserId, device: DeviceId) -> anyhow::Result<Self> {
        let mut bytes = [0; CODE_BYTES];
        let filled = SystemRandom::new().fill(&mut bytes);
        filled.map_err(|_| rtc_app::Error::NoRandom)?;
        let code = URL_SAFE_NO_PAD.encode(bytes);
        Ok(Self {
            tokens,
            user,
            device,
            unused: Mutex::new(Some(digest(&SHA256, code.as_bytes()))),
            code,
        })
    }

    /// Path and query by which a browser signs in.
    pub(super) fn path(&self) -> String {
        format!("/open?code={}", self.code)
    }

    /// Whether an address has the code; it has it once.
    pub(super) fn take_code(&self, uri: &Uri) -> bool {
        let query = uri.query().unwrap_or_default();
        let code = query.split('&').find_map(|pair| pair.strip_prefix("code="));
        code.is_some_and(|code| self.take(code))
    }

    /// Gives a browser its cookie, and leads it to the page.
    pub(super) fn begin(&self) -> Response {
        let cookie = self
            .tokens
            .make_for(Purpose::Page, self.user, self.device, Scopes::all(), COOKIE_TIME);
        let cookie = format!(
            "{}={cookie}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict",
            self.cookie_name(),
            COOKIE_TIME.as_secs()
        );
        (
            StatusCode::SEE_OTHER,
            [(LOCATION, "/".to_owned()), (SET_COOKIE, cookie)],
        )
            .into_response()
    }

    fn take(&self, code: &str) -> bool {
        let mut unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        let told = digest(&SHA256, code.as_bytes());
        if unused
            .as_ref()
            .is_some_and(|unused| unused.as_ref() == told.as_ref())
        {
            *unused = None;
            return true;
        }
        false
    }

    /// A browser does not tell cookies of one host's ports apart, so each installation has a name of its own.
    fn cookie_name(&self) -> String {
        format!("rtc_page_{:08x}", self.user.uuid().as_fields().0)
    }

    /// The cookie of a request, if it has one.
    pub(super) fn cookie(&self, headers: &HeaderMap) -> Option<String> {
        let name = self.cookie_name();
        headers
            .get_all(COOKIE)
            .iter()
            .filter_map(|cookies| cookies.to_str().ok())
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .find(|(found, _)| *found == name)
            .map(|(_, value)| value.to_owned())
    }

    /// A token to connect with, for a browser that has signed in.
    pub(super) fn token(&self) -> Response {
        let token = self
            .tokens
            .make(self.user, self.device, Scopes::all(), PAGE_TOKEN_TIME);
        let told = json!({"token": token, "user_id": self.user, "device_id": self.device});
        ([("content-type", "application/json")], told.to_string()).into_response()
    }
}

/// What is told to whoever comes with a code that is not, or not any longer, one.
pub(super) fn used_up() -> Response {
    let words = "It opens the page once, and then its browser stays signed in. For another browser start \
                 `rtc-headless serve` again, and open the address that it prints.";
    page::told(
        StatusCode::UNAUTHORIZED,
        "This address was used already, or is not whole",
        words,
    )
}
