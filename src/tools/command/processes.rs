//! Which processes a command has left: read from the system, decided by plain data.

use std::collections::BTreeMap;

/// A living process that a command started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    /// Its process group: the command's own, unless it left it.
    pub group: i32,
    /// Program and arguments as the system shows them, cut to a readable length.
    pub command_line: String,
}

/// How the processes of one command are recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The command's first process: also the id of its session and of its process group.
    pub leader: i32,
    /// `NAME=value` in the environment of everything the command starts. Finds daemons, which leave the session.
    pub variable: String,
}

/// A command line that is shown in a list, not run again.
fn shown(command_line: &str) -> String {
    const LONGEST: usize = 200;
    let text = command_line.trim();
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(LONGEST).collect();
    cut.push('…');
    cut
}

/// The living processes that carry the mark. Zombies are dead: they only wait to be counted.
#[cfg(target_os = "linux")]
pub fn of(mark: &Mark) -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let mut found = BTreeMap::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let Some(stat) = std::fs::read_to_string(entry.path().join("stat"))
            .ok()
            .and_then(|text| Stat::parse(&text))
        else {
            continue;
        };
        if pid == own || !stat.lives() {
            continue;
        }
        let belongs = stat.session == mark.leader || stat.group == mark.leader || {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            carries(&environment, &mark.variable)
        };
        if belongs {
            found.insert(pid, stat.group);
        }
    }
    found
        .into_iter()
        .map(|(pid, group)| {
            let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let text = String::from_utf8_lossy(&arguments).replace('\0', " ");
            Process {
                pid,
                group,
                command_line: shown(&text),
            }
        })
        .collect()
}

/// What is needed of `/proc/<pid>/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    state: char,
    group: i32,
    session: i32,
}

impl Stat {
    fn lives(self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// The name in parentheses may itself hold parentheses, spaces and line breaks: fields are counted from the last one.
    fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        let _parent = fields.next()?;
        let group = fields.next()?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        Some(Self {
            state,
            group,
            session,
        })
    }
}

fn carries(environment: &[u8], variable: &str) -> bool {
    environment
        .split(|byte| *byte == 0)
        .any(|entry| entry == variable.as_bytes())
}

/// Where there is no `/proc`, `ps` knows the process groups; a daemon that left the group is not found.
#[cfg(all(unix, not(target_os = "linux")))]
pub fn of(mark: &Mark) -> Vec<Process> {
    let listing = std::process::Command::new("ps")
        .args(["-A", "-o", "pid=,pgid=,stat=,args="])
        .stdin(std::process::Stdio::null())
        .output();
    match listing {
        Ok(listing) => of_listing(&String::from_utf8_lossy(&listing.stdout), mark.leader),
        Err(_) => Vec::new(),
    }
}

/// Reads the lines `pid pgid stat args` of `ps`.
#[cfg(any(test, all(unix, not(target_os = "linux"))))]
fn of_listing(listing: &str, group: i32) -> Vec<Process> {
    let parse = |line: &str| {
        let mut rest = line.trim_start();
        let mut next = || {
            let (word, after) = rest.split_once(char::is_whitespace)?;
            rest = after.trim_start();
            Some(word.to_owned())
        };
        let pid = next()?.parse().ok()?;
        let its_group: i32 = next()?.parse().ok()?;
        let lives = !next()?.starts_with(['Z', 'X']);
        (its_group == group && lives).then(|| Process {
            pid,
            group,
            command_line: shown(rest),
        })
    };
    listing.lines().filter_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read_after_the_last_parenthesis() {
        let cases = [
            (
                "12 (sleep) S 1 10 11 0 -1",
                Some(Stat {
                    state: 'S',
                    group: 10,
                    session: 11,
                }),
            ),
            (
                "12 (a) R 9 (b)\n c) Z 1 10 11 0",
                Some(Stat {
                    state: 'Z',
                    group: 10,
                    session: 11,
                }),
            ),
            ("12 (sleep) S 1 10", None),
            ("12 (sleep) S 1 x y", None),
            ("", None),
        ];
        for (text, want) in cases {
            assert_eq!(Stat::parse(text), want, "{text:?}");
        }
        assert!(!Stat::parse("1 (x) Z 1 2 3").unwrap().lives());
    }

    #[test]
    fn a_variable_is_matched_whole() {
        let environment = b"A=1\0MARK=12\0B=\0";
        for (variable, want) in [
            ("MARK=12", true),
            ("MARK=1", false),
            ("ARK=12", false),
            ("B=", true),
        ] {
            assert_eq!(carries(environment, variable), want, "{variable}");
        }
        assert!(!carries(b"", "MARK=12"));
    }

    #[test]
    fn a_listing_is_read_by_group_without_zombies() {
        let listing = "    1     1 Ss   /sbin/init\n  20    10 S+   sleep 5 é\n  21    10 Z    (sh)\n  22 110 S x\nnonsense\n";
        assert_eq!(
            of_listing(listing, 10),
            [Process {
                pid: 20,
                group: 10,
                command_line: "sleep 5 é".to_owned()
            }]
        );
    }

    #[test]
    fn long_command_lines_are_cut_between_characters() {
        assert_eq!(shown(&"é".repeat(300)).chars().count(), 201);
    }
}
