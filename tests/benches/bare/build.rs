//! Nothing to build: with a script cargo makes the folder that the window's context is put together in.

fn main() {}
