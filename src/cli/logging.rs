//! The log of the sidecar itself: to standard error, and to a file a day beside the state.
//!
//! Promises: no secret is in it, whatever was logged; no file and no thread is made before there is something to log; a
//! full disk or a read-only home costs the log and nothing else.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::app::Mask;
use crate::config::{LogFormat, LogSettings};

/// Days of which the log is kept.
const DAYS_KEPT: usize = 7;
/// Sets the level over all settings: `debug`, `outrigger::gates=trace`.
const VARIABLE: &str = "OUTRIGGER_LOG";

/// Begins to log. `folder`: where the files go, if there is a place.
pub fn start(settings: &LogSettings, folder: Option<PathBuf>) {
    let level = std::env::var(VARIABLE).ok();
    let level = level
        .filter(|level| !level.is_empty())
        .unwrap_or_else(|| settings.level.clone());
    let filter = || EnvFilter::builder().parse_lossy(&level);
    let stderr = Masking(io::stderr);
    let colour = io::stderr().is_terminal();
    let file = folder.map(|folder| {
        let files = Masking(Files {
            folder,
            opened: OnceLock::new(),
        });
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(files)
            .with_ansi(false);
        match settings.format {
            LogFormat::Text => lines.boxed(),
            LogFormat::Json => lines.json().boxed(),
        }
        .with_filter(filter())
    });
    let lines = tracing_subscriber::fmt::layer().with_writer(stderr);
    let shown = match settings.format {
        LogFormat::Text => lines.with_ansi(colour).boxed(),
        LogFormat::Json => lines.with_ansi(false).json().boxed(),
    };
    let registry = tracing_subscriber::registry()
        .with(shown.with_filter(filter()))
        .with(file);
    // Only a second logger would be refused, and there is none.
    let _ = registry.try_init();
}

/// The day's file, opened with the first line.
struct Files {
    folder: PathBuf,
    opened: OnceLock<Option<RollingFileAppender>>,
}

impl<'a> MakeWriter<'a> for Files {
    type Writer = Box<dyn Write + 'a>;

    fn make_writer(&'a self) -> Self::Writer {
        match self.opened.get_or_init(|| open(&self.folder)) {
            Some(appender) => Box::new(appender.make_writer()),
            None => Box::new(io::sink()),
        }
    }
}

fn open(folder: &Path) -> Option<RollingFileAppender> {
    make_private(folder).ok()?;
    RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix("outrigger")
        .filename_suffix("log")
        .max_log_files(DAYS_KEPT)
        .build(folder)
        .ok()
}

/// What is logged of a project is its user's alone.
fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Takes secrets out of every line.
struct Masking<M>(M);

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for Masking<M> {
    type Writer = MaskingLine<M::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        MaskingLine(self.0.make_writer())
    }
}

/// The subscriber writes a whole line at once.
struct MaskingLine<W>(W);

impl<W: Write> Write for MaskingLine<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        static MASK: LazyLock<Option<Mask>> = LazyLock::new(|| {
            let here = std::env::current_dir().unwrap_or_default();
            Mask::of_workspace(&here).ok()
        });
        let text = String::from_utf8_lossy(line);
        // Without a mask nothing can be promised, so nothing is told but that.
        let masked = MASK.as_ref().map_or_else(
            || "a line was not logged: secrets could not be told apart\n".into(),
            |mask| mask.apply(&text),
        );
        self.0.write_all(masked.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
