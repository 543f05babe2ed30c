//! What is so on this machine, whatever the project.

use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::Check;

/// Bytes below which a run may stop for want of space.
const LITTLE: u64 = 200 * 1024 * 1024;
const VERY_LITTLE: u64 = 20 * 1024 * 1024;
/// Seconds by which the clock of a disk may differ from ours.
const CLOCK: Duration = Duration::from_secs(5);
/// The day before which this program did not exist: a clock that says so is wrong. Seconds since 1970.
const BORN: u64 = 1_756_000_000;

pub fn versions() -> Check {
    let system = format!("{} {}", env::consts::OS, env::consts::ARCH);
    Check::ok(
        "version",
        format!("outrigger {} on {system}", env!("CARGO_PKG_VERSION")),
    )
}

/// Whether the folder of our own state can do what transcripts and databases need.
pub fn state(folder: &Path) -> Vec<Check> {
    let mut checks = vec![private(folder)];
    checks.push(match locks(folder) {
        Ok(true) => Check::ok("locks", "two processes can tell each other apart"),
        Ok(false) => Check::error(
            "locks",
            format!(
                "a lock in {} does not hold a second process off",
                folder.display()
            ),
            "choose a folder on a local disk with --state-dir or OUTRIGGER_STATE_DIR",
        ),
        Err(error) => Check::error(
            "locks",
            format!("files in {} cannot be locked: {error}", folder.display()),
            "choose a folder on a local disk with --state-dir or OUTRIGGER_STATE_DIR",
        ),
    });
    checks.push(disk(folder));
    checks
}

fn private(folder: &Path) -> Check {
    let shown = folder.display();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(folder).map(|about| about.permissions().mode() & 0o777);
        if let Ok(mode) = mode
            && mode & 0o077 != 0
        {
            return Check::warning(
                "state",
                format!("{shown} can be read by others (mode {mode:o})"),
                format!("chmod 700 {shown}"),
            );
        }
    }
    Check::ok("state", format!("{shown}"))
}

fn locks(folder: &Path) -> io::Result<bool> {
    let file = tempfile::NamedTempFile::new_in(folder)?;
    let first = File::open(file.path())?;
    first.try_lock()?;
    let second = File::open(file.path())?;
    Ok(matches!(
        second.try_lock(),
        Err(fs::TryLockError::WouldBlock)
    ))
}

#[cfg(unix)]
fn disk(folder: &Path) -> Check {
    match rustix::fs::statvfs(folder) {
        Ok(about) => room(about.f_bavail.saturating_mul(about.f_frsize), folder),
        Err(error) => Check::warning(
            "disk",
            format!(
                "the free space of {} is not known: {error}",
                folder.display()
            ),
            "",
        ),
    }
}

#[cfg(not(unix))]
fn disk(folder: &Path) -> Check {
    Check::ok(
        "disk",
        format!(
            "{} can be written; its free space is not asked for here",
            folder.display()
        ),
    )
}

#[cfg(unix)]
fn room(free: u64, folder: &Path) -> Check {
    let found = format!("{} MB free at {}", free / 1_000_000, folder.display());
    let todo = "make room: a run whose transcript cannot be written stops";
    if free < VERY_LITTLE {
        Check::error("disk", found, todo)
    } else if free < LITTLE {
        Check::warning("disk", found, todo)
    } else {
        Check::ok("disk", found)
    }
}

/// Whether files can be made in the project.
pub fn permissions(root: &Path) -> Check {
    let shown = root.display();
    let made = tempfile::Builder::new()
        .prefix(".outrigger-doctor-")
        .tempfile_in(root)
        .and_then(|mut file| file.write_all(b"x"));
    match made {
        Ok(()) => Check::ok("permissions", format!("{shown} can be written")),
        Err(error) => Check::warning(
            "permissions",
            format!("{shown} cannot be written: {error}"),
            "gates still work; for runs, use a checkout that you may write to",
        ),
    }
}

/// Whether texts beyond ASCII come through.
pub fn encoding(variable: impl Fn(&str) -> Option<String>) -> Check {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let set = names
        .iter()
        .find_map(|name| Some((name, variable(name).filter(|value| !value.is_empty())?)));
    let is_utf8 = |value: &str| {
        let value = value.to_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    };
    match set {
        _ if cfg!(windows) => Check::ok("encoding", "UTF-8"),
        Some((name, value)) if is_utf8(&value) => Check::ok("encoding", format!("{name}={value}")),
        Some((name, value)) => Check::warning(
            "encoding",
            format!("{name}={value}: tools may print other than UTF-8"),
            "export LC_ALL=C.UTF-8",
        ),
        None => Check::warning(
            "encoding",
            "no locale is set: tools may print other than UTF-8",
            "export LC_ALL=C.UTF-8",
        ),
    }
}

/// Whether the clock can be right, and is the disk's.
pub fn clock(folder: &Path) -> Check {
    let now = SystemTime::now();
    let todo = "set the clock (timedatectl set-ntp true)";
    let since = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    if since.as_secs() < BORN {
        return Check::error("clock", "it is before this program was made", todo);
    }
    let written = tempfile::NamedTempFile::new_in(folder)
        .and_then(|file| file.as_file().metadata()?.modified());
    let differs = match written {
        Ok(written) => written
            .duration_since(now)
            .unwrap_or_else(|early| early.duration()),
        Err(error) => {
            return Check::warning(
                "clock",
                format!("{} cannot be written: {error}", folder.display()),
                "",
            );
        }
    };
    if differs > CLOCK {
        let found = format!("the disk's differs by {} s", differs.as_secs());
        return Check::warning("clock", found, todo);
    }
    Check::ok("clock", "agrees with the disk's")
}

/// A place for settings and state: none in many containers.
pub fn home(variable: impl Fn(&str) -> Option<String>) -> Check {
    let set = |name: &&str| variable(name).is_some_and(|value| !value.is_empty());
    match ["HOME", "USERPROFILE"].iter().find(|name| set(name)) {
        Some(name) => Check::ok("home", format!("{name} is set")),
        None => Check::warning(
            "home",
            "HOME is not set: there are no settings of yours, and no place for state of its own",
            "set HOME, or name places with OUTRIGGER_CONFIG and OUTRIGGER_STATE_DIR",
        ),
    }
}

/// Which editors are here, and whether they know of us.
pub fn editors() -> Check {
    let here: Vec<&str> = ["nvim", "vim", "code", "codium", "hx", "emacs", "zed"]
        .into_iter()
        .filter(|name| on_path(name).is_some())
        .collect();
    if here.is_empty() {
        return Check::ok(
            "editors",
            "none is on the PATH; the terminal is all that is needed",
        );
    }
    let wired: Vec<&str> = here.iter().copied().filter(|name| is_wired(name)).collect();
    if wired.is_empty() {
        return Check::warning(
            "editors",
            format!(
                "{} here, none of which names outrigger in its settings",
                here.join(", ")
            ),
            "see the README, `Connect an editor`",
        );
    }
    let found = format!(
        "{} here, outrigger in the settings of {}",
        here.join(", "),
        wired.join(", ")
    );
    match on_path("outrigger") {
        Some(_) => Check::ok("editors", found),
        None => Check::warning(
            "editors",
            format!("{found}; `outrigger` is not on the PATH"),
            "cargo install --path ., or name the whole path in the editor's settings",
        ),
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(format!("{name}{}", env::consts::EXE_SUFFIX)))
        .find(|file| file.is_file())
}

/// Whether a settings file of the editor, or its folder of extensions, names us.
fn is_wired(editor: &str) -> bool {
    let Some(home) = env::var_os("HOME").map(PathBuf::from) else {
        return false;
    };
    let config = env::var_os("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
    let names_us = |path: &Path| {
        fs::read_to_string(path).is_ok_and(|text| text.to_lowercase().contains("outrigger"))
    };
    let has_extension = |folder: PathBuf| {
        let entries = folder.read_dir().into_iter().flatten().flatten();
        entries
            .into_iter()
            .any(|entry| entry.file_name().to_string_lossy().contains("outrigger"))
    };
    match editor {
        "nvim" => {
            let folder = config.join("nvim");
            names_us(&folder.join("init.lua"))
                || names_us(&folder.join("init.vim"))
                || ["lua", "lsp", "plugin", "after/lsp"].iter().any(|inner| {
                    let files = folder
                        .join(inner)
                        .read_dir()
                        .into_iter()
                        .flatten()
                        .flatten();
                    files.into_iter().any(|file| {
                        file.file_name().to_string_lossy().contains("outrigger")
                            || names_us(&file.path())
                    })
                })
        }
        "vim" => names_us(&home.join(".vimrc")) || names_us(&home.join(".vim/vimrc")),
        "code" => has_extension(home.join(".vscode/extensions")),
        "codium" => has_extension(home.join(".vscode-oss/extensions")),
        "hx" => names_us(&config.join("helix/languages.toml")),
        "emacs" => {
            names_us(&home.join(".emacs"))
                || names_us(&home.join(".emacs.d/init.el"))
                || names_us(&config.join("emacs/init.el"))
        }
        "zed" => names_us(&config.join("zed/settings.json")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn a_locale_is_read_as_programs_read_it() {
        let rows: [(&[(&str, &str)], State); 5] = [
            (&[("LANG", "de_DE.UTF-8")], State::Ok),
            (&[("LC_ALL", "C.utf8"), ("LANG", "C")], State::Ok),
            (&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")], State::Warning),
            (&[("LC_ALL", ""), ("LANG", "de_DE.UTF-8")], State::Ok),
            (&[], State::Warning),
        ];
        for (set, want) in rows {
            let variable = |name: &str| {
                let found = set.iter().find(|(other, _)| *other == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(encoding(variable).state, want, "{set:?}");
        }
    }

    #[test]
    fn locks_clock_and_room_are_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        assert!(locks(folder.path()).unwrap());
        assert_eq!(clock(folder.path()).state, State::Ok);
        assert_eq!(permissions(folder.path()).state, State::Ok);
        assert_eq!(
            permissions(&folder.path().join("missing")).state,
            State::Warning
        );
        assert!(folder.path().read_dir().unwrap().next().is_none());
        #[cfg(unix)]
        for (free, want) in [
            (0, State::Error),
            (LITTLE - 1, State::Warning),
            (LITTLE, State::Ok),
        ] {
            assert_eq!(room(free, folder.path()).state, want, "{free}");
        }
    }
}
