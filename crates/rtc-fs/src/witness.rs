//! Who stands beside a change.

use crate::{Error, PreImage, VPath};

/// Stands beside a change: is given what an undo needs before it, and is told when it is made. What was kept of a change
/// that failed before it was made is of no use.
pub trait Witness {
    /// Takes what an undo needs, before anything visible changes.
    ///
    /// # Errors
    /// Whatever ends the change.
    fn keep(&mut self, image: PreImage) -> Result<(), Error>;

    /// Everything that was kept so far is made, at `path`: also if an error follows, as that of a sync.
    fn made(&mut self, path: &VPath);
}

/// For whoever only wants to know what is kept.
impl<K: FnMut(PreImage) -> Result<(), Error>> Witness for K {
    fn keep(&mut self, image: PreImage) -> Result<(), Error> {
        self(image)
    }

    fn made(&mut self, _path: &VPath) {}
}
