//! `token`: makes a token to connect with, or takes one back.

use anyhow::Result;
use rtc_app::{Installation, TOKEN_TIME};
use rtc_realtime::Scopes;

use crate::args::{AppArgs, TokenArgs};
use crate::console::{Console, Style};
use crate::exit::{Exit, UsageError};

/// Only the key is needed, so this works beside a process that has the data folder open.
pub(crate) async fn run(app: &AppArgs, args: TokenArgs, console: &Console) -> Result<Exit> {
    if args.ttl.0 > TOKEN_TIME {
        let days = TOKEN_TIME.as_secs() / (24 * 60 * 60);
        return Err(UsageError(format!(
            "a token is valid for at most {days}d; name a shorter --ttl"
        ))
        .into());
    }
    let installation = Installation::open(app.data.clone()).await?;
    if let Some(token) = args.revoke {
        installation.tokens.revoke(token.trim()).await?;
        console.styled(Style::Faint, "revoked; its connections end within a second");
        return Ok(Exit::Completed);
    }
    let scopes: Scopes = match args.scope.is_empty() {
        true => Scopes::all(),
        false => args.scope.iter().map(|scope| scope.0).collect(),
    };
    let user = installation.user;
    if let Some(other) = args.user.filter(|named| *named != user) {
        let told = format!(
            "a token for the user {other} would let nobody in: this data folder belongs to the user {user}; leave \
             --user out"
        );
        return Err(UsageError(told).into());
    }
    let device = args.device.unwrap_or(installation.device);
    console.result(&installation.tokens.make(user, device, scopes, args.ttl.0));
    Ok(Exit::Completed)
}
