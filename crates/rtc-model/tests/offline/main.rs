//! The offline model, driven as the engine drives it: against a folder in memory with the built-in tools' texts.

mod conversations;
mod drive;
mod folder;
mod phrasings;
mod streaming;
mod table;
mod template;
mod unseen;
