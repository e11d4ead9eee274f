//! The port: lets guests in, answers their requests, and hands WebSockets over to connections.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State, WebSocketUpgrade};
use axum::http::header::{AUTHORIZATION, RETRY_AFTER};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{any, get, post};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rtc_app::{Purpose, Tokens};
use rtc_engine::Engine;
use rtc_realtime::{Connection, Services};
use rtc_wire::centrifuge::FRAME_BYTES;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::door::{Door, GUESTS, Newcomer};
use super::guard::{self, Names};
use super::page;
use super::sign_in::{self, SignIn};
use super::stream::GuestStream;
use super::websocket::{Admission, ClientSocket};

/// How long a guest may take to say what he wants, and to say the next thing.
const REQUEST_TIME: Duration = Duration::from_secs(5);

/// The largest head of a request, in bytes.
const HEAD_BYTES: usize = 16 << 10;

/// How many WebSockets may be open that have not yet connected with a valid token.
pub(super) const UNPROVEN: usize = 16;

/// What one read of a WebSocket takes at most, in bytes; each has a buffer of this size.
const READ_BYTES: usize = 16 << 10;

/// What may wait in a WebSocket itself to be written, in bytes: the largest single reply, and what is joined to it.
const WRITE_BYTES: usize = rtc_realtime::REPLY_BYTES + rtc_realtime::JOINED_BYTES + READ_BYTES;

/// How long nobody is let in after the system had no socket to give.
const PAUSE: Duration = Duration::from_millis(100);

/// Everything that answers.
pub(super) struct Port {
    shared: Arc<Shared>,
    names: Arc<Names>,
    guests: TaskTracker,
}

struct Shared {
    services: Services,
    engine: Engine,
    tokens: Tokens,
    sign_in: Option<SignIn>,
    unproven: Arc<Semaphore>,
    guests: TaskTracker,
}

impl Port {
    pub(super) fn new(
        services: Services,
        engine: Engine,
        tokens: Tokens,
        names: Names,
        sign_in: Option<SignIn>,
    ) -> Self {
        let guests = TaskTracker::new();
        let shared = Shared {
            services,
            engine,
            tokens,
            sign_in,
            unproven: Arc::new(Semaphore::new(UNPROVEN)),
            guests: guests.clone(),
        };
        Self {
            shared: Arc::new(shared),
            names: Arc::new(names),
            guests,
        }
    }

    /// Every guest who is there.
    pub(super) fn guests(&self) -> &TaskTracker {
        &self.guests
    }

    fn router(&self) -> Router {
        let for_known = page::router()
            .fallback(page::missing)
            .layer(from_fn_with_state(self.shared.clone(), require_credential));
        Router::new()
            .route("/healthz", get(healthy))
            .route("/readyz", get(ready))
            .route("/connection/websocket", any(websocket))
            .route("/open", get(open))
            .route("/auth/token", post(token))
            .fallback_service(for_known.with_state(self.shared.clone()))
            .with_state(self.shared.clone())
            .layer(from_fn_with_state(self.names.clone(), guard::check))
            .layer(from_fn(guard::protect))
    }

    /// Lets guests in until the end.
    pub(super) async fn serve(self, listener: TcpListener, shutdown: CancellationToken) {
        let router = self.router();
        let mut door = Door::new(GUESTS);
        loop {
            let accepted = tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "nobody can be let in");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let entered = tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                entered = door.enter() => entered,
            };
            let Some((place, newcomer)) = entered else {
                tracing::warn!("there are {GUESTS} connections; one more is not let in");
                continue;
            };
            // Frames are small and answers are waited for.
            let _ = stream.set_nodelay(true);
            let stream = GuestStream::new(stream, place, self.guests.token());
            self.guests
                .spawn(attend(stream, newcomer, router.clone(), shutdown.clone()));
        }
    }
}

/// Answers the requests of one guest.
async fn attend(stream: GuestStream, newcomer: Newcomer, router: Router, shutdown: CancellationToken) {
    let router = TowerToHyperService::new(router);
    let sent_away = newcomer.sent_away.clone();
    let newcomer = Mutex::new(Some(newcomer));
    let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| {
        // He has said what he wants.
        drop(newcomer.lock().unwrap_or_else(PoisonError::into_inner).take());
        router.call(request)
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIME)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut serving = std::pin::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        () = sent_away.cancelled() => return,
        () = shutdown.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a guest went in the middle");
    }
}

async fn healthy() -> &'static str {
    "ok\n"
}

/// Whether new work is taken; where it is not, why.
async fn ready(State(shared): State<Arc<Shared>>) -> Response {
    match shared.engine.ready().await {
        _ if shared.services.shutdown.is_cancelled() => {
            (StatusCode::SERVICE_UNAVAILABLE, "it is ending\n").into_response()
        }
        Ok(()) => "ok\n".into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    }
}

async fn websocket(
    State(shared): State<Arc<Shared>>,
    method: Method,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Response {
    if method != Method::GET {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) => return rejection.into_response(),
    };
    let Ok(place) = shared.unproven.clone().try_acquire_owned() else {
        tracing::warn!("there are {UNPROVEN} sockets that have not connected yet; one more is not opened");
        let later = [(RETRY_AFTER, "5")];
        let words = "too many sockets that have not connected yet; try again\n";
        return (StatusCode::SERVICE_UNAVAILABLE, later, words).into_response();
    };
    let mut services = shared.services.clone();
    services.authenticate = Arc::new(Admission::new(services.authenticate, place));
    let guest = shared.guests.token();
    upgrade
        .read_buffer_size(READ_BYTES)
        .write_buffer_size(READ_BYTES)
        .max_write_buffer_size(WRITE_BYTES)
        .max_message_size(FRAME_BYTES)
        .max_frame_size(FRAME_BYTES)
        .on_upgrade(move |socket| async move {
            Connection::run(ClientSocket::new(socket), services).await;
            drop(guest);
        })
}

async fn open(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    match &shared.sign_in {
        Some(sign_in) if sign_in.take_code(request.uri()) => sign_in.begin(),
        // The address is opened again by the browser that is signed in already.
        Some(sign_in)
            if shared
                .is_valid(sign_in.cookie(request.headers()), Purpose::Page)
                .await =>
        {
            Redirect::to("/").into_response()
        }
        Some(_) => sign_in::used_up(),
        None => no_page(),
    }
}

async fn token(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    let Some(sign_in) = &shared.sign_in else {
        return no_page();
    };
    if shared.is_valid(sign_in.cookie(&headers), Purpose::Page).await {
        sign_in.token()
    } else {
        unknown()
    }
}

/// Answers only those who have signed in, or show a token.
async fn require_credential(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let cookie = shared
        .sign_in
        .as_ref()
        .and_then(|sign_in| sign_in.cookie(headers));
    let bearer = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .map(str::to_owned);
    let is_known =
        shared.is_valid(cookie, Purpose::Page).await || shared.is_valid(bearer, Purpose::Connection).await;
    if !is_known {
        return unknown();
    }
    match shared.sign_in {
        Some(_) => next.run(request).await,
        None => no_page(),
    }
}

impl Shared {
    async fn is_valid(&self, token: Option<String>, purpose: Purpose) -> bool {
        let Some(token) = token else {
            return false;
        };
        let tokens = self.tokens.clone();
        let checking = tokio::task::spawn_blocking(move || tokens.check(&token, purpose).is_ok());
        checking.await.unwrap_or(false)
    }
}

fn unknown() -> Response {
    let words = "Open the address that `rtc-headless serve` printed. It signs one browser in; for another one start it \
                 again.";
    page::told(StatusCode::UNAUTHORIZED, "Not signed in", words)
}

fn no_page() -> Response {
    let words = "It was started with --no-ui. Clients connect at /connection/websocket.";
    page::told(StatusCode::NOT_FOUND, "The page is switched off", words)
}
