//! What a reader is given: how a tool was called, what it printed, how it ended.

/// How a tool ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    /// Ended by a signal: a crash, or somebody else's kill.
    Signal(i32),
    /// Killed by us after this many milliseconds.
    TimedOut {
        after_ms: u64,
    },
    /// There is no such program.
    NotFound,
    /// The program is there and could not be started: why.
    NotStarted(String),
}

impl Exit {
    /// The status the tool itself chose.
    pub fn code(&self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(*code),
            Self::Signal(_) | Self::TimedOut { .. } | Self::NotFound | Self::NotStarted(_) => None,
        }
    }
}

/// A report file the tool wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Path as it was asked for, or relative to the folder of reports.
    pub name: String,
    pub bytes: Vec<u8>,
}

/// Everything that one run of a tool left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub exit: Exit,
    pub artifacts: Vec<Artifact>,
    /// More came than we keep; what is here is the beginning.
    pub cut: bool,
}

impl ToolOutput {
    /// The first report file whose name ends so.
    pub fn artifact(&self, suffix: &str) -> Option<&[u8]> {
        self.artifacts
            .iter()
            .find(|artifact| artifact.name.ends_with(suffix))
            .map(|artifact| artifact.bytes.as_slice())
    }
}

/// How the tool was called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Invocation {
    /// Program first.
    pub argv: Vec<String>,
    /// What the tool says its version is, where that was asked.
    pub version: Option<Version>,
}

impl Invocation {
    /// Whether an argument is `flag`, or begins with `flag=`.
    pub fn has(&self, flag: &str) -> bool {
        self.argv.iter().any(|argument| {
            argument
                .strip_prefix(flag)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        })
    }
}

/// `major.minor` of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

impl Version {
    /// The first `N.N` in what a tool prints when asked.
    pub fn find(text: &str) -> Option<Self> {
        text.split(|c: char| !c.is_ascii_digit() && c != '.')
            .find_map(|word| {
                let mut parts = word.split('.');
                let major = parts.next()?.parse().ok()?;
                let minor = parts.next()?.parse().ok()?;
                Some(Self { major, minor })
            })
    }
}

/// A tool's text for people: lossy, without colours and links, line ends as LF.
pub fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = if text.contains('\u{1b}') {
        anstream::adapter::strip_str(&text).to_string()
    } else {
        text.into_owned()
    };
    if text.contains('\r') {
        text.replace("\r\n", "\n")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_colours() {
        let find = |text| Version::find(text).map(|version| (version.major, version.minor));
        assert_eq!(find("ruff 0.17.6"), Some((0, 17)));
        assert_eq!(find("mypy 2.4.1 (compiled: yes)"), Some((2, 4)));
        assert_eq!(find("go version go1.26 linux/amd64"), Some((1, 26)));
        assert_eq!(find("none"), None);
        assert_eq!(plain(b"\x1b[31mred\x1b[0m\r\n\xff"), "red\n\u{fffd}");
        assert_eq!(plain(b"\x1b]8;;http://x\x07link\x1b]8;;\x07"), "link");
    }

    #[test]
    fn flags() {
        let invocation = Invocation {
            argv: ["x", "--json", "--format=a"].map(str::to_owned).to_vec(),
            version: None,
        };
        assert!(invocation.has("--json") && invocation.has("--format"));
        assert!(!invocation.has("--form"));
    }
}
