//! How many commits a second there are: the product's store, a plain file, and redb, in turns.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use redb::{Database, TableDefinition};
use rtc_store::{Batch, SledOptions, SledStore, Store};

use super::{Effort, median};
use crate::bench::Folders;
use crate::bench::figure::{Figure, Unit};

/// How many commit at once where it is not one.
const MANY: usize = 64;
/// Records of a commit, as of one with a result: session, call and two messages; and the bytes of each.
const RECORDS: usize = 4;
const RECORD: usize = 700;
/// Bytes of its row in the stream.
const ROW: usize = 160;
/// What more than the records of one session is not wanted of many.
const ENOUGH: f64 = 15_000.0;
/// Commits of many by those of one, as many as are wanted.
const BY_ONE: f64 = 8.0;

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("records");

/// Commits a second, one sample a round.
#[derive(Default)]
struct Rates {
    one: Vec<f64>,
    many: Vec<f64>,
    append: Vec<f64>,
    redb_one: Vec<f64>,
    redb_many: Vec<f64>,
}

/// The key of a record: each session overwrites its own and makes new ones, as a turn does.
fn key(session: usize, commit: usize, record: usize) -> Vec<u8> {
    let number = if record == 0 { 0 } else { commit * RECORDS + record };
    [[session; 1], [number; 1]]
        .iter()
        .flat_map(|part| part[0].to_be_bytes())
        .collect()
}

/// Commits one after the other until the time is over, and how many.
async fn commit(store: &SledStore, session: usize, first: usize, until: Instant) -> Result<usize> {
    let mut commits = 0;
    while Instant::now() < until {
        let mut batch = Batch::new();
        for record in 0..RECORDS {
            batch.put(key(session, first + commits, record), vec![b'x'; RECORD]);
        }
        batch.append("updates", vec![b'x'; ROW]);
        store.commit(batch).await?;
        commits += 1;
    }
    Ok(commits)
}

/// The stores of a folder.
struct Place {
    _folder: tempfile::TempDir,
    store: SledStore,
    file: File,
    redb: Database,
    /// Of the first commit of a round: no key is new twice.
    next: usize,
    rates: Rates,
}

impl Place {
    fn new(folder: &Path) -> Result<Self> {
        let folder = tempfile::tempdir_in(folder)?;
        let store = SledStore::open(&folder.path().join("store"), &SledOptions::default())?;
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.path().join("log"))?;
        let redb = Database::create(folder.path().join("redb"))?;
        Ok(Self {
            _folder: folder,
            store,
            file,
            redb,
            next: 0,
            rates: Rates::default(),
        })
    }

    async fn round(&mut self, time: Duration) -> Result<()> {
        for sessions in [1, MANY] {
            let began = Instant::now();
            let (store, first) = (&self.store, self.next);
            let committing = (0..sessions).map(|session| commit(store, session, first, began + time));
            let commits = futures::future::try_join_all(committing).await?;
            let rate = commits.iter().sum::<usize>() as f64 / began.elapsed().as_secs_f64();
            self.next += commits.into_iter().max().unwrap_or_default();
            match sessions {
                1 => self.rates.one.push(rate),
                _ => self.rates.many.push(rate),
            }
        }
        self.rates.append.push(append(&self.file, time)?);
        let (one, made) = commit_redb(&self.redb, 1, self.next, time)?;
        let (many, more) = commit_redb(&self.redb, MANY, self.next + made, time)?;
        self.next += made + more;
        self.rates.redb_one.push(one);
        self.rates.redb_many.push(many);
        Ok(())
    }
}

/// Appends of as many bytes, each flushed.
fn append(mut file: &File, time: Duration) -> Result<f64> {
    let bytes = vec![b'x'; RECORDS * RECORD + ROW];
    let (began, mut appends) = (Instant::now(), 0);
    while began.elapsed() < time {
        file.write_all(&bytes)?;
        file.sync_data()?;
        appends += 1;
    }
    Ok(f64::from(appends) / began.elapsed().as_secs_f64())
}

/// As many bytes in a transaction of redb, by so many threads; how many a second, and the most of a thread.
fn commit_redb(database: &Database, sessions: usize, first: usize, time: Duration) -> Result<(f64, usize)> {
    let began = Instant::now();
    let commit = |session: usize| -> Result<usize> {
        let mut commits = 0;
        while began.elapsed() < time {
            let transaction = database.begin_write()?;
            {
                let mut table = transaction.open_table(TABLE)?;
                for record in 0..RECORDS {
                    let key = key(session, first + commits, record);
                    table.insert(key.as_slice(), [b'x'; RECORD].as_slice())?;
                }
                let row = key(usize::MAX - session, first + commits, 1);
                table.insert(row.as_slice(), [b'x'; ROW].as_slice())?;
            }
            transaction.commit()?;
            commits += 1;
        }
        Ok(commits)
    };
    let commits: Result<Vec<usize>> = std::thread::scope(|scope| {
        let commit = &commit;
        let threads: Vec<_> = (0..sessions)
            .map(|session| scope.spawn(move || commit(session)))
            .collect();
        let ended = threads.into_iter().map(|thread| match thread.join() {
            Ok(commits) => commits,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect()
    });
    let commits = commits?;
    let rate = commits.iter().sum::<usize>() as f64 / began.elapsed().as_secs_f64();
    Ok((rate, commits.into_iter().max().unwrap_or_default()))
}

/// All kinds in turns, in memory and on disk.
pub(super) fn measure(folders: &Folders, effort: Effort) -> Result<Vec<Figure>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (memory, disk) = runtime.block_on(async {
        let (mut memory, mut disk) = (Place::new(&folders.memory)?, Place::new(&folders.disk)?);
        for _ in 0..effort.rounds {
            memory.round(effort.time).await?;
            disk.round(effort.time).await?;
        }
        anyhow::Ok((memory.rates, disk.rates))
    })?;
    let wanted = |rates: &Rates| (BY_ONE * median(&rates.one)).min(ENOUGH) / median(&rates.many);
    let shares = [
        (
            "commit_memory_wanted",
            "what is wanted of 64 by what there is: in memory",
            wanted(&memory),
        ),
        (
            "commit_disk_wanted",
            "what is wanted of 64 by what there is: on disk",
            wanted(&disk),
        ),
    ];
    let shares = shares.map(|(name, what, ratio)| Figure::one(name, what, Unit::Count, ratio));
    let rows = [
        ("commit_1_memory", "commits of one session, in memory", memory.one),
        ("commit_64_memory", "commits of 64 sessions", memory.many),
        (
            "append_memory",
            "raw append + fdatasync of as many bytes",
            memory.append,
        ),
        (
            "redb_1_memory",
            "transactions of redb, one thread",
            memory.redb_one,
        ),
        (
            "redb_64_memory",
            "transactions of redb, 64 threads",
            memory.redb_many,
        ),
        ("commit_1_disk", "commits of one session, on disk", disk.one),
        ("commit_64_disk", "commits of 64 sessions", disk.many),
        (
            "append_disk",
            "raw append + fdatasync of as many bytes",
            disk.append,
        ),
        ("redb_1_disk", "transactions of redb, one thread", disk.redb_one),
        ("redb_64_disk", "transactions of redb, 64 threads", disk.redb_many),
    ];
    let rows = rows.map(|(name, what, samples)| Figure::samples(name, what, Unit::PerSecond, samples));
    Ok(rows.into_iter().chain(shares).collect())
}
