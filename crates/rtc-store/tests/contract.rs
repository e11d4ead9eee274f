//! What every store promises, checked over every store; and what the disk store promises besides.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)] // Tests look into the folder of the store.

#[path = "contract/batches.rs"]
mod batches;
#[path = "contract/disk.rs"]
mod disk;
#[path = "contract/full_disk.rs"]
mod full_disk;
#[path = "contract/harness.rs"]
mod harness;
#[path = "contract/lost_tail.rs"]
mod lost_tail;
#[path = "contract/model.rs"]
mod model;
#[path = "contract/past.rs"]
mod past;
#[path = "contract/reads.rs"]
mod reads;
#[path = "contract/salvage.rs"]
mod salvage;
#[path = "contract/streams.rs"]
mod streams;

/// Makes a test of every rule for every store.
macro_rules! contract {
    ($($module:ident: $($rule:ident),* $(,)?);* $(;)?) => {
        mod memory {
            $($(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                crate::$module::$rule(crate::harness::Harness::memory()).await;
            })*)*
        }

        mod sled {
            $($(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                crate::$module::$rule(crate::harness::Harness::sled()).await;
            })*)*
        }
    };
}

contract![
    batches:
        a_batch_is_applied_wholly_or_not_at_all,
        a_precondition_looks_at_the_state_before_the_batch,
        one_of_many_with_the_same_precondition_wins,
        a_revision_names_the_commit_that_wrote_the_value,
        the_last_write_of_a_key_in_a_batch_counts,
        a_lazy_batch_is_seen_and_survives_closing,
        a_lazy_batch_may_not_append,
        limits_are_refused_and_change_nothing,
        a_large_batch_is_taken;
    reads:
        scans_page_through_every_key_once,
        the_bounds_of_a_scan_are_exclusive,
        values_of_every_size_come_back,
        a_reader_never_sees_a_part_of_a_batch,
        there_is_room;
    streams:
        offsets_begin_at_one_and_go_on_after_reopening,
        streams_are_apart,
        the_epoch_stays,
        a_stream_takes_rows_up_to_the_limit,
        sixteen_writers_lose_and_double_nothing;
];
