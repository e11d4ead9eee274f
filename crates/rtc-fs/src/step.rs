//! The steps of a change, so that tests can let another program, or the end of the process, come in between.

#[cfg(not(test))]
#[inline]
pub(crate) fn at(_step: &'static str) {}

#[cfg(test)]
pub(crate) use self::tests::{at, on_each};

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    type OnEach = Box<dyn FnMut(&'static str)>;

    thread_local! {
        static ON_EACH: RefCell<Option<OnEach>> = const { RefCell::new(None) };
    }

    /// Called at each step; what is done in it is not seen as a step itself.
    pub(crate) fn at(step: &'static str) {
        let on_each = ON_EACH.with(RefCell::take);
        if let Some(mut on_each) = on_each {
            on_each(step);
            ON_EACH.with(|place| *place.borrow_mut() = Some(on_each));
        }
    }

    /// Calls `on_each` at each step on this thread while `changing` runs. A panic in it is the end of the process: nothing
    /// tidies up after it.
    pub(crate) fn on_each<R>(on_each: impl FnMut(&'static str) + 'static, changing: impl FnOnce() -> R) -> R {
        ON_EACH.with(|place| *place.borrow_mut() = Some(Box::new(on_each)));
        let result = changing();
        ON_EACH.with(RefCell::take);
        result
    }
}
