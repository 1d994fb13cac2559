//! A value that is made when it is first needed, once; making it may fail, and is then tried again.

use std::sync::{Mutex, PoisonError};

pub struct Once<T>(Mutex<Option<T>>);

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Clone> Once<T> {
    /// The value, where it is made already and nobody is making it now.
    pub fn peek(&self) -> Option<T> {
        self.0.try_lock().ok().and_then(|slot| slot.clone())
    }

    /// Others wait while it is made: two compilations of one component would help nobody.
    pub fn get<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = &*slot {
            return Ok(value.clone());
        }
        let value = make()?;
        *slot = Some(value.clone());
        Ok(value)
    }
}
