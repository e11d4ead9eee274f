//! Keeping what an undo needs, as long as there is something to undo.

use std::sync::Arc;

use rtc_fs::{Error, PreImage, PreImageFolder, VPath, Witness};
use rtc_tool::{CallContext, ToolError};
use rtc_types::RtcId;

/// Keeps the pre-images of a call. Those of a change that was not made are forgotten when this is dropped.
pub(crate) struct Keeping<M> {
    folder: Arc<PreImageFolder>,
    rtc: RtcId,
    attempt: u32,
    /// Kept for what is not made yet.
    pending: Vec<u32>,
    made: M,
}

impl<M: FnMut(&VPath)> Keeping<M> {
    /// Keeps where the call keeps them, and tells `made` each path that was changed.
    pub(crate) fn new(context: &CallContext, made: M) -> Result<Self, ToolError> {
        let missing =
            || ToolError::execution("there is no place for the old content, so nothing was changed");
        Ok(Self {
            folder: context.extensions.get::<PreImageFolder>().ok_or_else(missing)?,
            rtc: context.rtc,
            attempt: context.attempt,
            pending: Vec::new(),
            made,
        })
    }
}

impl<M: FnMut(&VPath)> Witness for Keeping<M> {
    fn keep(&mut self, image: PreImage) -> Result<(), Error> {
        let number = self.folder.keep(self.rtc, self.attempt, &image)?;
        // A change that is begun in another way keeps the same once more.
        if self.pending.last() != Some(&number) {
            self.pending.push(number);
        }
        Ok(())
    }

    fn made(&mut self, path: &VPath) {
        self.pending.clear();
        (self.made)(path);
    }
}

impl<M> Drop for Keeping<M> {
    fn drop(&mut self) {
        for number in self.pending.drain(..).rev() {
            // One that stays is evidence of nothing and in nobody's way: its file is as it was before.
            let _ = self.folder.forget(self.rtc, number);
        }
    }
}
