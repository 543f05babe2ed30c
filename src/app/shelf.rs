//! Where the state lies while the actor is not using it, so that a look at it needs no change of threads.
//!
//! Promise: whoever looks sees all that was posted before. That is why a look is taken here only when no post waits: else
//! it takes its place behind them in the mailbox.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::kernel::State;

#[derive(Default)]
pub struct Shelf {
    /// Posts that are not handled yet.
    waiting: AtomicUsize,
    /// `None` while the actor has it.
    state: Mutex<Option<State>>,
}

impl Shelf {
    /// Before a post is made.
    pub fn expect_post(&self) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
    }

    /// Looks, unless a post waits; gives the look back then.
    pub fn look<T, L: FnOnce(&State) -> T>(&self, look: L) -> Result<T, L> {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            return Err(look);
        }
        match &*self.lock() {
            Some(state) => Ok(look(state)),
            None => Err(look),
        }
    }

    /// The actor takes the state.
    pub fn take(&self) -> Option<State> {
        self.lock().take()
    }

    /// The actor has handled this many posts, and lays the state down if others may look at it.
    pub fn done_with(&self, posts: usize, state: Option<State>) {
        if state.is_some() {
            *self.lock() = state;
        }
        self.waiting.fetch_sub(posts, Ordering::SeqCst);
    }

    fn lock(&self) -> MutexGuard<'_, Option<State>> {
        // Looks change nothing: one that panicked leaves a sound state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_taken_only_when_nothing_waits_and_the_actor_is_not_at_it() {
        let shelf = Shelf::default();
        let looked = || shelf.look(|state| state.runs.len()).ok();
        assert_eq!(looked(), None, "nothing is there yet");
        shelf.expect_post();
        shelf.done_with(1, Some(State::default()));
        assert_eq!(looked(), Some(0));
        shelf.expect_post();
        assert_eq!(looked(), None, "a post waits");
        let state = shelf.take();
        shelf.expect_post();
        shelf.done_with(1, state);
        assert_eq!(looked(), None, "one more waits");
        let state = shelf.take();
        shelf.done_with(1, state);
        assert_eq!(looked(), Some(0));
    }
}
