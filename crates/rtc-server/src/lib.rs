//! The headless shell: the binary rtc-headless.
