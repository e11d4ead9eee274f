//! The built-in device tools over a project folder.
