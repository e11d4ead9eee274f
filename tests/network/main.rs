//! With the network cut off: nobody is contacted but the model's host, and without any network all works as ever.

#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests start processes and look at them from outside"
)]

mod contacted;
mod cut_off;
mod person;
mod work;
