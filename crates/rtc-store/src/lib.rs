//! Atomic, durable batches over ordered keys, streams with assigned offsets, and blobs.
//!
//! [`Store`] is the contract; [`SledStore`] keeps it on the device, [`MemoryStore`] keeps it in memory with
//! faults that a test can inject. One contract suite (`tests/contract.rs`) runs over both.
//!
//! ```
//! use rtc_store::{Batch, Expect, Key, MemoryStore, Offset, Store};
//!
//! # tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(async {
//! let store = MemoryStore::new();
//! let mut batch = Batch::new();
//! batch
//!     .require("note/1", Expect::Absent)
//!     .put("note/1", "hello")
//!     .append("updates", "note 1 was written");
//! let receipt = store.commit(batch).await?;
//!
//! assert_eq!(receipt.offsets, [Offset(1)]);
//! let entry = store.get(&Key::from("note/1")).await?.expect("just written");
//! assert_eq!(entry.value, b"hello");
//! assert_eq!(entry.revision, receipt.revision);
//! # Ok::<(), rtc_store::Error>(())
//! # }).expect("the memory store takes it");
//! ```

mod batch;
mod error;
mod key;
mod memory;
mod sled_store;
mod store;

pub use batch::{BATCH_BYTES, Batch, Durability, Expect, INLINE_BYTES, KEY_BYTES, VALUE_BYTES};
pub use error::Error;
pub use key::Key;
pub use memory::{Fault, MemoryStore, UNFLUSHED_BATCHES};
pub use sled_store::{Mend, SetAside, SledOptions, SledStore, Taken};
pub use store::{Entry, Epoch, Offset, Position, Receipt, Revision, Room, Store};
