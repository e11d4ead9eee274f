//! What fails in a script where nothing waits for it: promises, and callbacks of timers.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use deno_core::v8;

use super::{Control, Failure};
use crate::limits::{Limit, MAX_REJECTIONS};

/// Promises that failed before anything waited for them, and the first callback that threw. The engine of the runtime keeps
/// the promises as well, but without a bound, and lets go of many only after minutes.
pub(super) struct Unawaited {
    control: Arc<Control>,
    rejections: RefCell<VecDeque<Rejection>>,
    thrown: RefCell<Option<Failure>>,
}

/// A promise and what it failed with.
type Rejection = (v8::Global<v8::Promise>, v8::Global<v8::Value>);

/// How the world is left when something failed.
pub(super) enum Left {
    /// A callback threw.
    Thrown(Failure),
    /// A promise failed with this.
    Rejected(v8::Global<v8::Value>),
}

impl Unawaited {
    /// From now on, notes what fails in this runtime.
    pub(super) fn watch(isolate: &mut v8::Isolate, control: Arc<Control>) -> Rc<Self> {
        let unawaited = Rc::new(Self {
            control,
            rejections: RefCell::default(),
            thrown: RefCell::default(),
        });
        isolate.set_slot(unawaited.clone());
        isolate.set_promise_reject_callback(note);
        unawaited
    }

    /// Notes what a callback threw. The first one counts.
    pub(super) fn throw(&self, failure: Failure) {
        self.thrown.borrow_mut().get_or_insert(failure);
    }

    /// Runs a future of the event loop until something has failed that nothing waits for. All that was ready has run by
    /// then, so that whoever wanted to wait for it does.
    pub(super) async fn unless_left<T>(&self, future: impl Future<Output = T>) -> Result<T, Left> {
        let mut future = std::pin::pin!(future);
        std::future::poll_fn(|context| {
            let polled = future.as_mut().poll(context);
            match self.left() {
                Some(left) => Poll::Ready(Err(left)),
                None => polled.map(Ok),
            }
        })
        .await
    }

    /// Lets go of all of them; the time that this takes grows with the square of their number.
    pub(super) fn clear(&self) {
        self.rejections.borrow_mut().clear();
    }

    fn left(&self) -> Option<Left> {
        let thrown = self.thrown.borrow_mut().take().map(Left::Thrown);
        thrown.or_else(|| {
            let first = self.rejections.borrow_mut().pop_front();
            first.map(|(_, value)| Left::Rejected(value))
        })
    }

    fn add(&self, rejection: Rejection) {
        let mut rejections = self.rejections.borrow_mut();
        if rejections.len() < MAX_REJECTIONS {
            rejections.push_back(rejection);
        } else {
            self.control.end(Limit::Rejections);
        }
    }

    fn remove(&self, promise: &v8::Global<v8::Promise>) {
        let mut rejections = self.rejections.borrow_mut();
        // Most often they are waited for in the order in which they failed.
        if let Some(at) = rejections.iter().position(|(known, _)| known == promise) {
            rejections.remove(at);
        }
    }
}

extern "C" fn note(message: v8::PromiseRejectMessage) {
    // The engine calls this with its own message, as the scope demands.
    v8::callback_scope!(unsafe scope, &message);
    let Some(unawaited) = scope.get_slot::<Rc<Unawaited>>().cloned() else {
        return;
    };
    let promise = v8::Global::new(scope, message.get_promise());
    match (message.get_event(), message.get_value()) {
        (v8::PromiseRejectEvent::PromiseRejectWithNoHandler, Some(value)) => {
            let value = v8::Global::new(scope, value);
            unawaited.add((promise, value));
        }
        (v8::PromiseRejectEvent::PromiseHandlerAddedAfterReject, _) => unawaited.remove(&promise),
        _ => {}
    }
}
