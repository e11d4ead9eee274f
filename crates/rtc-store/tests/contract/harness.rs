//! A store of either kind that can be closed and opened again, and what the rules use to talk to it.

use std::path::Path;
use std::sync::Arc;

use rtc_store::{Batch, Error, Key, MemoryStore, Receipt, SetAside, SledOptions, SledStore, Store};
use tempfile::TempDir;

pub(crate) enum Harness {
    Memory(Arc<MemoryStore>),
    Sled(Option<Arc<SledStore>>, TempDir),
}

impl Harness {
    pub(crate) fn memory() -> Self {
        Harness::Memory(Arc::new(MemoryStore::new()))
    }

    pub(crate) fn sled() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        Harness::Sled(Some(Arc::new(store)), folder)
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        match self {
            Harness::Memory(store) => store.clone(),
            Harness::Sled(store, _) => store.clone().unwrap(),
        }
    }

    /// Closes the store, which nobody else may hold any more, and opens it again.
    pub(crate) fn reopen(&mut self) {
        match self {
            Harness::Memory(store) => *store = Arc::new(store.crash(usize::MAX)),
            Harness::Sled(store, folder) => {
                drop(Arc::into_inner(store.take().unwrap()).expect("the test still holds the store"));
                *store = Some(Arc::new(open(folder.path())));
            }
        }
    }
}

pub(crate) fn open(folder: &Path) -> SledStore {
    SledStore::open(folder, &SledOptions::default()).unwrap()
}

/// Opens a store, or sets it aside; what is taken over stays as it is.
pub(crate) fn open_or_set_aside(folder: &Path, aside: &Path) -> Result<(SledStore, Option<SetAside>), Error> {
    let mend = |_, _: &SetAside| Ok("noted".to_owned());
    SledStore::open_or_set_aside(folder, aside, &SledOptions::default(), &mend)
}

/// A batch, built in place.
pub(crate) fn batch(build: impl FnOnce(&mut Batch)) -> Batch {
    let mut batch = Batch::new();
    build(&mut batch);
    batch
}

/// Commits a batch that is built in place.
pub(crate) async fn commit(store: &Arc<dyn Store>, build: impl FnOnce(&mut Batch)) -> Result<Receipt, Error> {
    store.commit(batch(build)).await
}

/// The whole of the caller's keys, as text.
pub(crate) async fn shown(store: &Arc<dyn Store>) -> String {
    let rows = store.scan(&Key::default(), None, usize::MAX).await.unwrap();
    let rows: Vec<String> = rows
        .iter()
        .map(|(key, entry)| format!("{key}={}", entry.value.escape_ascii()))
        .collect();
    rows.join(" ")
}
