//! What `tests/model/install.sh` has put in place. Without it a test says that it is skipped; with
//! `OUTRIGGER_TESTS_REQUIRE` set (as the full run does for what the platform can have) it fails instead.

use std::path::{Path, PathBuf};

/// The path that the installer has noted for a part, or `None` after saying that the test is skipped.
pub fn part(name: &str) -> Option<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("target"),
        PathBuf::from,
    );
    let note = target.join("model-tests").join(format!("{name}.ok"));
    match std::fs::read_to_string(&note) {
        Ok(path) => Some(PathBuf::from(path)),
        Err(_)
            if std::env::var("OUTRIGGER_TESTS_REQUIRE")
                .is_ok_and(|parts| parts.split(',').any(|part| part == name)) =>
        {
            panic!(
                "{name} is required but not installed: {} is missing",
                note.display()
            )
        }
        Err(_) => {
            eprintln!("skipped: {name} is not installed; run tests/model/install.sh {name}");
            None
        }
    }
}
