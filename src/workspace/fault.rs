//! Places at which a test can end the process as a power cut would; nothing at all in a real build.

/// Between two system calls of a write. Under test, the process kills itself at the point whose number it was told.
#[cfg(not(test))]
#[inline]
pub(super) fn point(_name: &str) {}

#[cfg(test)]
pub(super) use tested::point;

#[cfg(test)]
pub(super) mod tested {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Number of the point to die at, counted from 1 over the whole process.
    pub const VARIABLE: &str = "OUTRIGGER_TEST_ABORT_AT";

    static PASSED: AtomicU64 = AtomicU64::new(0);

    pub fn point(_name: &str) {
        static DIE_AT: OnceLock<Option<u64>> = OnceLock::new();
        let die_at = DIE_AT.get_or_init(|| std::env::var(VARIABLE).ok()?.parse().ok());
        let passed = PASSED.fetch_add(1, Ordering::SeqCst) + 1;
        if *die_at == Some(passed) {
            // No destructor, no flush: as if the machine had stopped us.
            let _ = rustix::process::kill_process(
                rustix::process::getpid(),
                rustix::process::Signal::KILL,
            );
            loop {
                std::thread::park();
            }
        }
    }
}
