use std::os::unix::fs::PermissionsExt;
use std::sync::LazyLock;

use proptest::prelude::*;
use serde::Deserialize;

use super::*;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Event {
    seq: u64,
    text: String,
}

fn event(seq: u64) -> Event {
    Event {
        seq,
        text: format!("é 漢 😀 \" \\ \n {{}} {seq}"),
    }
}

fn no_secrets() -> Arc<Mask> {
    static MASK: LazyLock<Arc<Mask>> =
        LazyLock::new(|| Arc::new(Mask::new([("A_KEY", "s3cr3t-value")], []).unwrap()));
    Arc::clone(&MASK)
}

fn line(seq: u64) -> String {
    serde_json::to_string(&event(seq)).unwrap() + "\n"
}

fn lines(numbers: impl IntoIterator<Item = u64>) -> String {
    numbers.into_iter().map(line).collect()
}

fn numbers(page: &Page<Event>) -> Vec<u64> {
    page.records.iter().map(|record| record.seq).collect()
}

fn all(path: &Path) -> Page<Event> {
    read(path, 0, usize::MAX).unwrap()
}

#[test]
fn records_come_back_and_only_the_user_can_read_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs/a b é.jsonl");
    let mut transcript = Transcript::create(&path, no_secrets()).unwrap();
    for seq in 1..=3 {
        transcript.append(&event(seq)).unwrap();
    }
    transcript.sync().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), lines(1..=3));
    let page = all(&path);
    assert_eq!(page.records, [event(1), event(2), event(3)]);
    assert_eq!((page.bad_lines, page.more), (vec![], false));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn secrets_do_not_reach_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    let mut transcript = Transcript::create(&path, no_secrets()).unwrap();
    let text = "the key is\ns3cr3t-value".to_owned();
    transcript.append(&Event { seq: 1, text }).unwrap();
    drop(transcript);
    assert_eq!(all(&path).records[0].text, "the key is\n[masked]");
}

#[test]
fn cut_at_every_byte_it_is_read_and_continued() {
    let whole = lines(1..=3);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    for length in 0..=whole.len() {
        std::fs::write(&path, &whole.as_bytes()[..length]).unwrap();
        // Whole records: their brace is there, whether or not their line end is.
        let mut ends = [0, 0, 0];
        for (n, end) in ends.iter_mut().enumerate() {
            *end = lines(1..=n as u64 + 1).len() - 1;
        }
        let kept: Vec<u64> = (1..=3)
            .filter(|n| ends[usize::try_from(*n).unwrap() - 1] <= length)
            .collect();
        let page = all(&path);
        assert_eq!(numbers(&page), kept, "cut at {length}");
        assert_eq!(page.bad_lines, []);

        let (mut transcript, found) = Transcript::open_append(&path, no_secrets()).unwrap();
        let cut = length.saturating_sub(lines(kept.clone()).len()) as u64;
        let last_seq = kept.last().copied();
        assert_eq!(found, Found { last_seq, cut }, "cut at {length}");
        transcript.append(&event(9)).unwrap();
        transcript.sync().unwrap();
        let want = lines(kept.into_iter().chain([9]));
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            want,
            "cut at {length}"
        );
    }
}

#[test]
fn opening_alone_changes_nothing_that_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    for text in [lines(1..=2), String::new()] {
        std::fs::write(&path, &text).unwrap();
        drop(Transcript::open_append(&path, no_secrets()).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn bad_lines_are_named_and_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    let mut bytes = line(1).into_bytes();
    bytes.extend(b"\0\0\0\n{\"seq\":2}\n\n");
    bytes.extend(line(3).bytes());
    bytes.extend(b"\xff\xfe not json\n");
    bytes.extend(line(4).bytes());
    bytes.extend(b"{\"seq\":5,");
    std::fs::write(&path, bytes).unwrap();
    let bad = |page: &Page<Event>| {
        page.bad_lines
            .iter()
            .map(|bad| bad.number)
            .collect::<Vec<_>>()
    };

    let page = all(&path);
    assert_eq!((numbers(&page), bad(&page)), (vec![1, 3, 4], vec![2, 3, 6]));
    assert!(
        page.bad_lines[1].reason.contains("missing field `text`"),
        "{page:?}"
    );
    // Page by page each bad line is told once.
    let mut after = 0;
    let mut told = Vec::new();
    loop {
        let page: Page<Event> = read(&path, after, 1).unwrap();
        told.push((numbers(&page), bad(&page)));
        match page.records.last() {
            Some(last) if page.more => after = last.seq,
            _ => break,
        }
    }
    assert_eq!(
        told,
        [(vec![1], vec![]), (vec![3], vec![2, 3]), (vec![4], vec![6])]
    );
    // The bad lines stay where they are when it goes on.
    let (mut transcript, found) = Transcript::open_append(&path, no_secrets()).unwrap();
    assert_eq!((found.last_seq, found.cut), (Some(4), 9));
    transcript.append(&event(5)).unwrap();
    transcript.flush().unwrap();
    let page = all(&path);
    assert_eq!(
        (numbers(&page), bad(&page)),
        (vec![1, 3, 4, 5], vec![2, 3, 6])
    );
}

#[test]
fn reading_on_from_any_record_of_a_long_transcript() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    let mut text = String::new();
    for seq in 1..=20_000 {
        text += &line(seq);
        if seq % 1000 == 0 {
            text += "damaged\n";
        }
    }
    std::fs::write(&path, text).unwrap();
    for after in [0, 1, 2, 999, 1000, 9_999, 12_345, 19_999] {
        let page: Page<Event> = read(&path, after, 3).unwrap();
        let want: Vec<u64> = (after + 1..=20_000).take(3).collect();
        assert_eq!(numbers(&page), want, "after {after}");
        assert_eq!(page.more, after + 3 < 20_000);
        let damaged: Vec<u64> = match after {
            999 | 1000 => vec![1001],
            9_999 => vec![10_010],
            19_999 => vec![20_020],
            _ => vec![],
        };
        let told: Vec<u64> = page.bad_lines.iter().map(|bad| bad.number).collect();
        assert_eq!(told, damaged, "after {after}");
    }
    let page: Page<Event> = read(&path, 20_000, 3).unwrap();
    assert_eq!((numbers(&page), page.more), (vec![], false));
}

#[test]
fn going_on_reads_only_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    let file = File::create(&path).unwrap();
    // A terabyte of nothing, of which no block is on disk: reading it would take minutes.
    let size = 1 << 40;
    if file.set_len(size).is_err() {
        return;
    }
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"\n").unwrap();
    file.write_all(lines(1..=2).as_bytes()).unwrap();
    let (mut transcript, found) = Transcript::open_append(&path, no_secrets()).unwrap();
    assert_eq!(found.last_seq, Some(2));
    transcript.append(&event(3)).unwrap();
    transcript.sync().unwrap();
    let length = std::fs::metadata(&path).unwrap().len();
    assert_eq!(length, size + 1 + lines(1..=3).len() as u64);
}

#[test]
fn records_longer_than_any_buffer_are_read_and_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    let long = |seq| Event {
        seq,
        text: "é".repeat(500_000),
    };
    let mut transcript = Transcript::create(&path, no_secrets()).unwrap();
    transcript.append(&long(1)).unwrap();
    transcript.append(&long(2)).unwrap();
    drop(transcript);
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(file.metadata().unwrap().len() - 10).unwrap();
    let (_, found) = Transcript::open_append(&path, no_secrets()).unwrap();
    assert_eq!(found.last_seq, Some(1));
    assert!(found.cut > 1_000_000);
    assert_eq!(all(&path).records, [long(1)]);
}

#[test]
fn a_second_writer_is_refused_until_the_first_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    let first = Transcript::create(&path, no_secrets()).unwrap();
    let second = Transcript::open_append(&path, no_secrets()).unwrap_err();
    assert!(matches!(second, TranscriptError::Busy(_)), "{second}");
    drop(first);
    assert!(Transcript::open_append(&path, no_secrets()).is_ok());
    let again = Transcript::create(&path, no_secrets()).unwrap_err();
    assert!(
        again.to_string().starts_with("create the transcript `"),
        "{again}"
    );
}

#[test]
fn a_place_that_cannot_be_written_is_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = Transcript::create(&file.join("runs/t.jsonl"), no_secrets()).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("create the transcript `"), "{text}");
    assert!(
        text.ends_with("or choose another place with --state-dir"),
        "{text}"
    );
    let error = Transcript::open_append(&folder.path().join("gone"), no_secrets()).unwrap_err();
    assert!(
        error.to_string().starts_with("open the transcript `"),
        "{error}"
    );
    let error = read::<Event>(&folder.path().join("gone"), 0, 1).unwrap_err();
    assert!(
        error.to_string().starts_with("read the transcript `"),
        "{error}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_at_once_is_told_in_words() {
    let (mut transcript, found) =
        Transcript::open_append(Path::new("/dev/full"), no_secrets()).unwrap();
    assert_eq!(found, Found::default());
    transcript.append(&event(1)).unwrap();
    for _ in 0..2 {
        let text = transcript.sync().unwrap_err().to_string();
        assert!(
            text.starts_with("write the transcript `/dev/full`: "),
            "{text}"
        );
        assert!(
            text.ends_with("; nothing is lost yet: free some space and go on"),
            "{text}"
        );
    }
}

/// Says to the test below that it is the process with little space, and where its transcript lies.
const LITTLE_SPACE: &str = "OUTRIGGER_TEST_LITTLE_SPACE";

/// Runs itself again in a process that may write only 4 KiB to a file, until it raises that limit.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_fills_up_loses_nothing() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Some(path) = std::env::var_os(LITTLE_SPACE).map(PathBuf::from) else {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        // The signal that comes with the limit would kill the process; being ignored is inherited.
        let script = "trap '' XFSZ; ulimit -S -f 8; exec \"$0\" \"$@\"";
        let child = std::process::Command::new("sh")
            .args(["-c", script])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg("store::transcript::tests::a_disk_that_fills_up_loses_nothing")
            .env(LITTLE_SPACE, &path)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&child.stdout);
        assert!(
            child.status.success() && told.contains("1 passed"),
            "{told}"
        );
        assert_eq!(numbers(&all(&path)), (1..=100).collect::<Vec<_>>());
        return;
    };
    let mut transcript = Transcript::create(&path, no_secrets()).unwrap();
    let mut failures = 0;
    for seq in 1..=100 {
        transcript.append(&event(seq)).unwrap();
        if let Err(error) = transcript.sync() {
            failures += 1;
            assert!(error.to_string().contains("free some space"), "{error}");
            // Whatever was written is whole lines.
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.is_empty() || text.ends_with('\n'));
            let page = all(&path);
            assert_eq!(text, lines(1..=page.records.len() as u64));
        }
    }
    assert!(failures > 0 && failures < 100, "{failures}");
    let limit = getrlimit(Resource::Fsize);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    setrlimit(Resource::Fsize, raised).unwrap();
    transcript.sync().unwrap();
}

#[test]
fn memory_stays_bounded_when_nothing_can_be_written() {
    let (mut transcript, _) =
        Transcript::open_append(Path::new("/dev/full"), no_secrets()).unwrap();
    let large = Event {
        seq: 1,
        text: "x".repeat(MOST_PENDING / 3),
    };
    let mut taken = 0;
    let error = loop {
        match transcript.append(&large) {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken < 10);
    };
    assert!(matches!(error, TranscriptError::Full { .. }), "{error}");
    assert_eq!(taken, 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_bytes_are_read_and_continued_without_a_panic(pieces in proptest::collection::vec(
        prop_oneof![
            any::<Vec<u8>>(),
            Just(b"\n".to_vec()),
            (1_u64..9).prop_map(|seq| line(seq).into_bytes()),
            (1_u64..9, 0_usize..20).prop_map(|(seq, cut)| line(seq).into_bytes()[..cut].to_vec()),
        ],
        0..12,
    )) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let before = pieces.concat();
        std::fs::write(&path, &before).unwrap();
        let records = all(&path).records;
        let (mut transcript, found) = Transcript::open_append(&path, no_secrets()).unwrap();
        transcript.append(&event(100)).unwrap();
        transcript.sync().unwrap();
        let after = std::fs::read(&path).unwrap();
        // Nothing but a cut last line went, nothing but a line end and the record came.
        let kept = &before[..before.len() - usize::try_from(found.cut).unwrap()];
        prop_assert!(after.starts_with(kept));
        prop_assert!(!before[kept.len()..].contains(&b'\n'));
        let added = &after[kept.len()..];
        let with_line_end = ["\n", &line(100)].concat();
        prop_assert!([line(100).as_bytes(), with_line_end.as_bytes()].contains(&added));
        let mut want = records;
        want.push(event(100));
        prop_assert_eq!(all(&path).records, want);
    }
}

/// Says to the test below that it is the process to be killed, and where its transcript lies.
const TO_BE_KILLED: &str = "OUTRIGGER_TEST_TO_BE_KILLED";

/// Runs itself again in a process that is killed while it writes, many times over one transcript.
#[test]
fn what_was_synchronised_survives_a_kill_at_any_moment() {
    if let Some(path) = std::env::var_os(TO_BE_KILLED).map(PathBuf::from) {
        let (mut transcript, found) = Transcript::open_append(&path, no_secrets()).unwrap();
        let mut told = io::stderr();
        for seq in found.last_seq.unwrap_or_default() + 1.. {
            transcript.append(&event(seq)).unwrap();
            // Some only wait in memory, some are only flushed.
            match seq % 4 {
                0 => transcript.sync().unwrap(),
                2 => transcript.flush().unwrap(),
                _ => continue,
            }
            writeln!(told, "{seq}").unwrap();
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    drop(Transcript::create(&path, no_secrets()).unwrap());
    let mut safe = 0;
    for round in 1..=20 {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg("store::transcript::tests::what_was_synchronised_survives_a_kill_at_any_moment")
            .env(TO_BE_KILLED, &path)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = io::BufRead::lines(io::BufReader::new(child.stderr.take().unwrap()));
        for _ in 0..round * 7 {
            safe = told.next().unwrap().unwrap().parse().unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What it told after we stopped listening is safe too.
        safe = told
            .filter_map(|line| line.unwrap().parse().ok())
            .last()
            .unwrap_or(safe);
        let page = all(&path);
        assert_eq!(page.bad_lines, []);
        let last = page.records.last().unwrap().seq;
        assert!(last >= safe, "{last} of {safe}");
        assert_eq!(numbers(&page), (1..=last).collect::<Vec<_>>());
    }
}

#[test]
fn a_transcript_removed_while_it_was_opened_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    drop(Transcript::create(&path, no_secrets()).unwrap());
    let opened = File::open(&path).unwrap();
    remove(&path).unwrap();
    let error = lock(&opened, &path).unwrap_err();
    assert!(
        matches!(&error, TranscriptError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound),
        "{error}"
    );
    // Nor is one that has taken its place meanwhile.
    let _other = Transcript::create(&path, no_secrets()).unwrap();
    assert!(lock(&opened, &path).is_err());
}
