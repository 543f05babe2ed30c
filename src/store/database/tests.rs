use std::collections::BTreeSet;
use std::fs;
use std::sync::{Arc, Barrier, LazyLock};
use std::thread;

use proptest::prelude::*;

use super::*;
use crate::kernel::event::Record;
use crate::kernel::ids::RunId;
use crate::store::lease::Owner;
use crate::store::lease::owner::Observer;
use crate::store::mask::Mask;
use crate::store::overview::tests::{answered, asked, ended, record, started};
use crate::store::transcript::Transcript;

/// A state folder with a database and transcripts.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("state.db")
    }

    fn open(&self) -> Database {
        Database::open(&self.database()).unwrap().0
    }

    fn runs(&self) -> PathBuf {
        self.folder.path().join("runs")
    }

    fn transcript(&self, run: &str) -> PathBuf {
        self.runs().join(format!("{run}.jsonl"))
    }

    /// Appends records to a run's transcript.
    fn write(&self, run: &str, records: &[Record]) {
        static MASK: LazyLock<Arc<Mask>> = LazyLock::new(|| Arc::new(Mask::new([], []).unwrap()));
        let mask = Arc::clone(&MASK);
        let path = self.transcript(run);
        let mut transcript = if path.exists() {
            Transcript::open_append(&path, mask).unwrap().0
        } else {
            Transcript::create(&path, mask).unwrap()
        };
        for record in records {
            transcript.append(record).unwrap();
        }
    }
}

fn names(overviews: &[crate::store::overview::Overview]) -> Vec<&str> {
    overviews
        .iter()
        .map(|overview| overview.run.as_str())
        .collect()
}

fn ids(names: &[&str]) -> Vec<RunId> {
    names.iter().map(|name| RunId::new(*name)).collect()
}

/// A process that does not live any more.
fn dead() -> Owner {
    Owner {
        started: "long ago".to_owned(),
        ..Owner::of_this_process()
    }
}

/// Another process, which lives: the one that started this one.
fn living(n: usize) -> Owner {
    // Owners are compared by all they are; the machine's name alone sets these apart, and they are then judged by
    // their heartbeat, which is fresh when it is first seen.
    Owner {
        machine: format!("machine {n}"),
        ..Owner::of_this_process()
    }
}

#[test]
fn the_index_follows_the_transcripts() {
    let place = Place::new();
    let mut database = place.open();
    assert_eq!(
        database.refresh(&place.runs()).unwrap(),
        Refreshed::default()
    );

    place.write(
        "r1",
        &[record(1, started("first é")), record(2, asked("r1.q1"))],
    );
    place.write("r2", &[record(9, started("second")), record(10, ended())]);
    let refreshed = database.refresh(&place.runs()).unwrap();
    assert_eq!(refreshed.changed, ids(&["r1", "r2"]));
    assert_eq!(names(&database.runs(10).unwrap()), ["r2", "r1"]);
    assert_eq!(names(&database.runs(1).unwrap()), ["r2"]);
    assert_eq!(names(&database.unfinished_runs().unwrap()), ["r1"]);
    // Nothing new: nothing is read.
    assert_eq!(
        database.refresh(&place.runs()).unwrap(),
        Refreshed::default()
    );

    place.write(
        "r1",
        &[record(3, answered("r1.q1", "yes")), record(4, ended())],
    );
    let refreshed = database.refresh(&place.runs()).unwrap();
    assert_eq!(refreshed.changed, ids(&["r1"]));
    let overview = database.run(&RunId::new("r1")).unwrap().unwrap();
    assert_eq!(
        (overview.prompt.as_str(), overview.last_seq),
        ("first é", 4)
    );
    assert_eq!(overview.open_questions().count(), 0);
    assert!(database.unfinished_runs().unwrap().is_empty());

    fs::remove_file(place.transcript("r2")).unwrap();
    assert_eq!(database.refresh(&place.runs()).unwrap().gone, ids(&["r2"]));
    assert_eq!(database.run(&RunId::new("r2")).unwrap(), None);
}

#[test]
fn one_bad_transcript_does_not_hide_the_others() {
    let place = Place::new();
    place.write("r1", &[record(1, started("good"))]);
    place.write("r2", &[record(1, started("damaged"))]);
    let mut text = fs::read_to_string(place.transcript("r2")).unwrap();
    text.push_str("garbage\n");
    fs::write(place.transcript("r2"), text).unwrap();
    place.write("r2", &[record(2, ended())]);
    // A folder is no transcript, whatever it is called.
    fs::create_dir(place.transcript("r3")).unwrap();
    fs::write(place.runs().join("notes.txt"), "").unwrap();

    let mut database = place.open();
    let refreshed = database.refresh(&place.runs()).unwrap();
    assert_eq!(refreshed.changed, ids(&["r1", "r2"]));
    let [Problem::BadLine { run, line }] = refreshed.problems.as_slice() else {
        panic!("{:?}", refreshed.problems);
    };
    assert_eq!((run.as_str(), line.number), ("r2", 2));
    assert!(
        database
            .run(&RunId::new("r2"))
            .unwrap()
            .unwrap()
            .end
            .is_some()
    );
}

#[test]
fn a_damaged_database_is_set_aside_and_built_again() {
    let place = Place::new();
    place.write("r1", &[record(1, started("x"))]);
    let (mut database, opened) = Database::open(&place.database()).unwrap();
    assert_eq!(opened, Opened::Migrated);
    database.refresh(&place.runs()).unwrap();
    drop(database);
    assert_eq!(Database::open(&place.database()).unwrap().1, Opened::Fine);

    let whole = fs::read(place.database()).unwrap();
    let page = 4096;
    let mut damages: Vec<Vec<u8>> =
        vec![b"not a database, but long enough to be looked at as one".to_vec()];
    // The first page torn, and any other one.
    for at in (0..whole.len()).step_by(page) {
        let mut torn = whole.clone();
        torn[at..at + page].fill(0xa5);
        damages.push(torn);
    }
    damages.push(whole[..whole.len() - page / 2].to_vec());
    for damage in damages {
        fs::write(place.database(), &damage).unwrap();
        // As after a crash: the log is still there.
        fs::write(place.folder.path().join("state.db-wal"), "").unwrap();
        let (mut database, opened) = Database::open(&place.database()).unwrap();
        match opened {
            Opened::SetAside(aside) => {
                assert_eq!(fs::read(&aside).unwrap(), damage);
                assert_eq!(
                    database.refresh(&place.runs()).unwrap().changed,
                    ids(&["r1"])
                );
            }
            // A page that holds nothing may be torn without harm.
            Opened::Fine => {
                database.refresh(&place.runs()).unwrap();
            }
            Opened::Migrated => panic!("damage was taken for an old version"),
        }
        assert_eq!(names(&database.runs(9).unwrap()), ["r1"]);
    }
}

#[test]
fn an_empty_file_becomes_a_database() {
    let place = Place::new();
    fs::write(place.database(), "").unwrap();
    assert_eq!(
        Database::open(&place.database()).unwrap().1,
        Opened::Migrated
    );
}

#[test]
fn a_newer_database_is_left_alone() {
    let place = Place::new();
    drop(place.open());
    let connection = Connection::open(place.database()).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let before = fs::read(place.database()).unwrap();
    let error = Database::open(&place.database()).unwrap_err();
    assert!(
        matches!(error, DatabaseError::Newer { found: 99, .. }),
        "{error}"
    );
    assert_eq!(fs::read(place.database()).unwrap(), before);
}

#[test]
fn a_place_that_cannot_be_written_is_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Database::open(&file.join("state.db"))
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("make the folder of `"), "{error}");
    // A folder in its place.
    let error = Database::open(folder.path()).unwrap_err().to_string();
    assert!(error.starts_with("open the state database `"), "{error}");
}

#[test]
fn of_many_that_claim_a_run_at_once_one_gets_it() {
    const MANY: usize = 8;
    let place = Place::new();
    let run = RunId::new("r1");
    let mut database = place.open();
    // The former owner is dead.
    let claim = database
        .claim(&run, &dead(), &mut Observer::default())
        .unwrap();
    assert_eq!(claim, Claim::Ours { after: None });
    let orphans = database.orphans(&mut Observer::default()).unwrap();
    assert_eq!(orphans, [(run.clone(), dead())]);

    let barrier = Barrier::new(MANY);
    let claims: Vec<Claim> = thread::scope(|scope| {
        let threads: Vec<_> = (0..MANY)
            .map(|n| {
                let (place, run, barrier) = (&place, &run, &barrier);
                scope.spawn(move || {
                    let mut database = place.open();
                    barrier.wait();
                    database
                        .claim(run, &living(n), &mut Observer::default())
                        .unwrap()
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let won: Vec<usize> = (0..MANY)
        .filter(|n| {
            claims[*n]
                == Claim::Ours {
                    after: Some(dead()),
                }
        })
        .collect();
    assert_eq!(won.len(), 1, "{claims:?}");
    let winner = living(won[0]);
    let lost = claims
        .iter()
        .filter(|claim| **claim == Claim::Held(winner.clone()));
    assert_eq!(lost.count(), MANY - 1);
    assert!(
        database
            .orphans(&mut Observer::default())
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_lease_is_renewed_kept_and_given_up_by_its_owner_alone() {
    let place = Place::new();
    let run = RunId::new("r1");
    let mut database = place.open();
    let mut observer = Observer::default();
    let (ours, theirs) = (Owner::of_this_process(), living(1));
    let mut claim = |owner: &Owner| {
        let mut database = place.open();
        database.claim(&run, owner, &mut observer).unwrap()
    };
    assert_eq!(claim(&ours), Claim::Ours { after: None });
    // Again: after a restart of the actor, say.
    assert_eq!(claim(&ours), Claim::Ours { after: None });
    assert_eq!(claim(&theirs), Claim::Held(ours.clone()));
    database.heartbeat(&ours).unwrap();
    database.release(&run, &theirs).unwrap();
    assert_eq!(claim(&theirs), Claim::Held(ours.clone()));
    database.release(&run, &ours).unwrap();
    assert_eq!(claim(&theirs), Claim::Ours { after: None });
}

#[test]
fn a_post_stays_until_it_is_done_and_others_see_that_it_came() {
    let place = Place::new();
    let run = RunId::new("r1");
    let mut ours = place.open();
    let mut theirs = place.open();
    let before = ours.version_of_others().unwrap();
    assert_eq!(ours.version_of_others().unwrap(), before);
    theirs.post(&run, "first é").unwrap();
    theirs.post(&RunId::new("r2"), "to another").unwrap();
    theirs.post(&run, "second").unwrap();
    assert_ne!(ours.version_of_others().unwrap(), before);
    let bodies = |database: &Database| -> Vec<String> {
        let posts = database.posts(&run).unwrap();
        posts.into_iter().map(|post| post.body).collect()
    };
    assert_eq!(bodies(&ours), ["first é", "second"]);
    // An owner that dies now leaves both to the next one.
    assert_eq!(bodies(&place.open()), ["first é", "second"]);
    let first = ours.posts(&run).unwrap().remove(0);
    ours.post_is_done(&first).unwrap();
    ours.post_is_done(&first).unwrap();
    assert_eq!(bodies(&theirs), ["second"]);
    // Our own writing is no news.
    let before = ours.version_of_others().unwrap();
    ours.post(&run, "to myself").unwrap();
    assert_eq!(ours.version_of_others().unwrap(), before);
}

#[test]
fn several_processes_may_refresh_at_once() {
    let place = Place::new();
    for n in 0..40 {
        place.write(
            &format!("r{n}"),
            &[record(1, started("x")), record(2, ended())],
        );
    }
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| place.open().refresh(&place.runs()).unwrap());
        }
    });
    assert_eq!(place.open().runs(100).unwrap().len(), 40);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    /// Whenever it is refreshed in between, the index is what a new one would be.
    #[test]
    fn refreshing_step_by_step_is_refreshing_once(steps in proptest::collection::vec((0_usize..3, any::<bool>()), 1..20)) {
        let place = Place::new();
        let mut followed = place.open();
        let mut lengths = [0_u64; 3];
        for (run, refresh) in steps {
            lengths[run] += 1;
            let seq = lengths[run];
            let event = match seq {
                1 => started("x"),
                seq if seq % 2 == 0 => asked(&format!("q{seq}")),
                seq => answered(&format!("q{}", seq - 1), "a"),
            };
            place.write(&format!("r{run}"), &[record(seq, event)]);
            if refresh {
                followed.refresh(&place.runs()).unwrap();
            }
        }
        followed.refresh(&place.runs()).unwrap();
        let other = place.folder.path().join("other.db");
        let (mut fresh, _) = Database::open(&other).unwrap();
        fresh.refresh(&place.runs()).unwrap();
        let runs = fresh.runs(10).unwrap();
        prop_assert_eq!(&followed.runs(10).unwrap(), &runs);
        let written: BTreeSet<usize> = (0..3).filter(|n| lengths[*n] > 0).collect();
        prop_assert_eq!(runs.len(), written.len());
    }
}
