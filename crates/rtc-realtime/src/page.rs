//! Pieces of a user's stream, as clients get them: every offset once, in order, gaps included.

use std::io;

use rtc_types::Update;
use rtc_wire::centrifuge::{
    ErrorCode, HistoryRequest, HistoryResult, Publication, REJECT_UNRECOVERED, SubscribeRequest,
    SubscribeResult,
};
use serde_json::{Map, Value, json};

use crate::limits::{HISTORY_UPDATES, PAGE_BYTES};
use crate::{Caller, Position, Source};

/// Some of a stream without a gap, and where the stream stood.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) publications: Vec<Publication>,
    pub(crate) position: Position,
}

/// What the publications after `after` of a life of the stream are: at most `limit`, and at most `bytes` unless the first
/// alone is larger. [`ErrorCode::UnrecoverablePosition`] if the stream has begun anew since.
pub(crate) async fn read(
    source: &dyn Source,
    caller: &Caller,
    epoch: &str,
    after: u64,
    limit: usize,
    bytes: usize,
) -> Result<Page, ErrorCode> {
    let watch = source.position();
    let mut position = watch.borrow().clone();
    let rows = source.updates(caller, after, limit).await.map_err(|error| {
        tracing::warn!(%error, "updates cannot be read");
        ErrorCode::Internal
    })?;
    if *watch.borrow().epoch != *epoch {
        return Err(ErrorCode::UnrecoverablePosition);
    }
    let last_row = rows.last().map_or(after, |row| row.offset);
    // With fewer rows than wanted there are no more, so everything up to the position that has no row is a gap.
    let through = if rows.len() < limit {
        last_row.max(position.offset)
    } else {
        last_row
    };
    let mut rows = rows.into_iter().peekable();
    let mut publications = Vec::new();
    let mut room = bytes;
    for offset in (after + 1..=through).take(limit) {
        while rows.next_if(|row| row.offset < offset).is_some() {}
        let row = rows.next_if(|row| row.offset == offset);
        let data = match row.map(|row| row.update) {
            Some(Ok(update)) => update_data(update, offset),
            Some(Err(_)) | None => gap(),
        };
        let size = json_bytes(&data);
        if size > room && !publications.is_empty() {
            break;
        }
        room = room.saturating_sub(size);
        publications.push(publication(offset, data));
    }
    position.offset = position.offset.max(after + publications.len() as u64);
    Ok(Page {
        publications,
        position,
    })
}

/// The answer to a subscribe of a user's stream, with what the client missed if that is everything.
pub(crate) async fn subscribe(
    source: &dyn Source,
    caller: &Caller,
    request: &SubscribeRequest,
) -> Result<SubscribeResult, ErrorCode> {
    let position = source.position().borrow().clone();
    let mut result = SubscribeResult {
        recoverable: true,
        positioned: true,
        was_recovering: request.recover,
        ..SubscribeResult::default()
    };
    let missed = position.offset.checked_sub(request.offset);
    let is_near = missed.is_some_and(|missed| missed <= HISTORY_UPDATES as u64);
    let mut position = position;
    if request.recover && is_near && *request.epoch == *position.epoch {
        match read(
            source,
            caller,
            &position.epoch,
            request.offset,
            HISTORY_UPDATES,
            PAGE_BYTES,
        )
        .await
        {
            Ok(page) => {
                let is_all = request.offset + page.publications.len() as u64 == page.position.offset;
                result.recovered = is_all && is_small(&page);
                position = page.position;
                result.publications = page.publications;
            }
            Err(ErrorCode::UnrecoverablePosition) => position = source.position().borrow().clone(),
            Err(error) => return Err(error),
        }
    }
    if result.recovered {
        // Clients count from here while they take the publications.
        result.offset = request.offset;
    } else {
        if request.recover && request.flag & REJECT_UNRECOVERED != 0 {
            return Err(ErrorCode::UnrecoverablePosition);
        }
        result.publications.clear();
        result.offset = position.offset;
    }
    result.epoch = position.epoch.to_string();
    Ok(result)
}

/// Whether a page keeps its bound also if it is a single update.
fn is_small(page: &Page) -> bool {
    page.publications.len() != 1 || json_bytes(&page.publications[0].data) <= PAGE_BYTES
}

/// The answer to a request for history.
pub(crate) async fn history(
    source: &dyn Source,
    caller: &Caller,
    request: &HistoryRequest,
) -> Result<HistoryResult, ErrorCode> {
    let position = source.position().borrow().clone();
    let since = request.since.as_ref();
    if since.is_some_and(|since| !since.epoch.is_empty() && *since.epoch != *position.epoch) {
        return Err(ErrorCode::UnrecoverablePosition);
    }
    let limit = usize::try_from(request.limit).map_or(HISTORY_UPDATES, |limit| limit.min(HISTORY_UPDATES));
    let page = if limit == 0 {
        Page {
            publications: Vec::new(),
            position,
        }
    } else if request.reverse {
        let newest = since.map_or(position.offset, |since| {
            position.offset.min(since.offset.saturating_sub(1))
        });
        let after = newest.saturating_sub(limit as u64);
        let count = usize::try_from(newest - after).unwrap_or(limit);
        let mut page = read(source, caller, &position.epoch, after, count, usize::MAX).await?;
        page.publications.reverse();
        cut(&mut page.publications);
        page
    } else {
        let after = since.map_or(0, |since| since.offset);
        let after = after.min(position.offset);
        read(source, caller, &position.epoch, after, limit, PAGE_BYTES).await?
    };
    Ok(HistoryResult {
        publications: page.publications,
        epoch: page.position.epoch.to_string(),
        offset: page.position.offset,
    })
}

/// Leaves at most [`PAGE_BYTES`], but one.
fn cut(publications: &mut Vec<Publication>) {
    let mut bytes = 0;
    let fits = publications.iter().take_while(|publication| {
        bytes += json_bytes(&publication.data);
        bytes <= PAGE_BYTES
    });
    let count = fits.count();
    publications.truncate(count.max(1));
}

fn publication(offset: u64, data: Value) -> Publication {
    Publication {
        offset,
        data,
        ..Publication::default()
    }
}

/// What stands for an update that there is not, or not for this client.
fn gap() -> Value {
    json!({"type": "gap", "data": {}})
}

/// An update as clients get it, its entities moved, not copied.
pub(crate) fn update_data(update: Update, offset: u64) -> Value {
    let mut data = Map::new();
    data.insert("id".to_owned(), json!(update.id));
    data.insert("items".to_owned(), json!(update.items));
    data.insert("data_list".to_owned(), Value::Array(update.data_list));
    data.insert("offset".to_owned(), offset.into());
    Value::Object(data)
}

/// How many bytes a value has as JSON.
fn json_bytes(value: &Value) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting does not fail, and a value is always JSON.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}
