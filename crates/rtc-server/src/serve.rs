//! `serve`: the port that clients connect to, until the process is told to end.

mod door;
mod guard;
mod listen;
mod page;
mod port;
mod sign_in;
mod signals;
mod stream;
mod websocket;

use std::time::Duration;

use anyhow::Result;
use rtc_app::{App, Instance, Options};
use rtc_realtime::Scopes;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::args::{AppArgs, ServeArgs};
use crate::console::Console;
use crate::exit::Exit;
use guard::Names;
use listen::Listen;
use port::Port;
use sign_in::SignIn;
use signals::Signals;

/// How long the token that is printed when the port is ready is valid.
const TOKEN_TIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How long clients get, when the process ends, to take what they are told.
const FAREWELL_TIME: Duration = Duration::from_secs(4);

pub(crate) async fn run(app: &AppArgs, args: ServeArgs, console: &Console) -> Result<Exit> {
    // Before anything that takes time, so that no word to end is missed.
    let mut signals = Signals::new()?;
    let listen = Listen::find(&args.listen, args.allow_remote).await?;
    let options = Options {
        data: app.data.clone(),
        config: app.config.clone(),
        model: args.model.clone(),
        client_approves: args.client_approves,
        ..Options::default()
    };
    let app = App::open(options).await?;
    let served = serve(&app, &listen, &args, console, &mut signals).await;
    app.shut_down();
    served
}

async fn serve(
    app: &App,
    listen: &Listen,
    args: &ServeArgs,
    console: &Console,
    signals: &mut Signals,
) -> Result<Exit> {
    for root in &args.root {
        app.open_project(root).await?;
    }
    let tokens = app.tokens().await?;
    let listener = listen.bind(app.last_port().await?).await?;
    let address = listener.local_addr()?;
    app.keep_port(address.port()).await?;
    let names = Names::new(&listen.host, address);
    let sign_in = match args.no_ui {
        true => None,
        false => Some(SignIn::new(tokens.clone(), app.user(), app.device())?),
    };
    let url = match &sign_in {
        Some(sign_in) => format!("http://{}{}", names.own(), sign_in.path()),
        None => format!("http://{}/", names.own()),
    };
    let token = tokens.make(app.user(), app.device(), Scopes::all(), TOKEN_TIME);
    let ready = json!({"url": url, "port": address.port(), "token": token, "user_id": app.user()});
    let instance = Instance {
        address: names.own().to_owned(),
        token,
        pid: std::process::id(),
    };
    let shutdown = CancellationToken::new();
    let services = app.services(&tokens, &shutdown);
    let port = Port::new(services, app.engine().clone(), tokens.clone(), names, sign_in);

    let ended = {
        let _watching = AbortOnDropHandle::new(tokio::spawn(async move { tokens.watch().await }));
        let _going_on = AbortOnDropHandle::new(tokio::spawn(app.go_on()));
        let serving = listen_until(port, listener, shutdown.clone());
        let ready = async {
            app.announce(instance).await?;
            console.result(&ready.to_string());
            tracing::info!(%address, "the port is open");
            signals.wait().await;
            tracing::info!("ending");
            shutdown.cancel();
            Ok::<_, anyhow::Error>(())
        };
        let (ready, ()) = tokio::join!(
            async {
                let ended = ready.await;
                // Also after an error nobody is served any longer.
                shutdown.cancel();
                ended
            },
            serving
        );
        ready
    };
    let withdrawn = app.withdraw().await;
    ended?;
    withdrawn?;
    Ok(Exit::Completed)
}

/// Serves until the end, and then gives clients a bounded time to go.
async fn listen_until(port: Port, listener: TcpListener, shutdown: CancellationToken) {
    let guests = port.guests().clone();
    port.serve(listener, shutdown).await;
    guests.close();
    if tokio::time::timeout(FAREWELL_TIME, guests.wait()).await.is_err() {
        tracing::warn!("some clients did not go in time");
    }
}
