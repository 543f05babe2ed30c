//! The mask of the workspace's secrets, made when the first transcript is opened: most of the time a sidecar idles, and
//! the searchers for secrets are the largest thing it would hold.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::store::mask::{Mask, MaskError};

pub struct Secrets {
    root: PathBuf,
    mask: Mutex<Option<Arc<Mask>>>,
}

impl Secrets {
    /// `root` is the workspace folder.
    pub fn new(root: PathBuf) -> Self {
        Self {
            root,
            mask: Mutex::new(None),
        }
    }

    /// # Errors
    /// There are too many secrets to search for.
    pub fn mask(&self) -> Result<Arc<Mask>, MaskError> {
        // A panic while it was made left nothing there.
        let mut made = self.mask.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mask) = &*made {
            return Ok(Arc::clone(mask));
        }
        let mask = Arc::new(Mask::of_workspace(&self.root)?);
        *made = Some(Arc::clone(&mask));
        Ok(mask)
    }
}
