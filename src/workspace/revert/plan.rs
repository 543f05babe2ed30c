//! What undoing changes of a file comes to, decided from the contents alone.
//!
//! The changes are taken back from the last to the first. Where the file is still what a change left, it becomes what
//! the change found; where somebody has edited since, their edits are kept by a three-way merge, or the file is left.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernel::diff::{apply_hunks, hunks};
use crate::kernel::file::{Encoding, FileNow, NewContent, WriteOrder};
use crate::kernel::hash::ContentHash;
use crate::kernel::merge::{Merge, three_way};
use crate::kernel::path::RelPath;

/// One side of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side {
    /// No file.
    Absent,
    Text {
        text: Arc<str>,
        encoding: Encoding,
        hash: ContentHash,
    },
    /// Its content is not known any more, or no text.
    Lost { reason: String },
}

impl Side {
    pub fn text(text: &str, encoding: Encoding) -> Self {
        Self::Text {
            hash: ContentHash::of(&encoding.encode(text)),
            text: text.into(),
            encoding,
        }
    }

    fn hash(&self) -> Option<&ContentHash> {
        match self {
            Self::Text { hash, .. } => Some(hash),
            Self::Absent | Self::Lost { .. } => None,
        }
    }

    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Absent, Self::Absent) => true,
            (Self::Text { hash, .. }, Self::Text { hash: other, .. }) => hash == other,
            _ => false,
        }
    }
}

/// A change of a file by contents, or several that followed each other with nothing in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sides {
    pub before: Side,
    pub after: Side,
}

/// What undoing comes to for one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "outcome")]
pub enum FileRevert {
    /// The file becomes, byte for byte, what it was before.
    Restored,
    /// The file goes: it was created, and its bytes are still those.
    Removed,
    /// What the changes did, or the chosen part of it, is taken out; edits made since stay.
    Merged,
    /// It is already as it was before.
    AlreadyAsBefore,
    /// It becomes what it was before, and edits made since are given up; they stay in the ledger.
    Overruled,
    /// Nothing is done.
    Left { why: LeftWhy },
}

impl FileRevert {
    /// Whether the file is written.
    pub fn writes(&self) -> bool {
        match self {
            Self::Restored | Self::Removed | Self::Merged | Self::Overruled => true,
            Self::AlreadyAsBefore | Self::Left { .. } => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "reason")]
pub enum LeftWhy {
    /// Edits made since overlap with what would be undone.
    EditedSince,
    /// It was created and has been edited since: it is the user's now.
    CreatedAndEdited,
    /// It was deleted since.
    DeletedSince,
    /// It was deleted, and something else has been made in its place.
    MadeAnew,
    /// It cannot be read as text now, or what was there is not known any more.
    #[serde(rename_all = "camelCase")]
    Unreadable { detail: String },
    /// The hunks are not those of this file's changes.
    #[serde(rename_all = "camelCase")]
    NoSuchHunk { detail: String },
}

impl LeftWhy {
    /// For people.
    pub fn text(&self) -> String {
        match self {
            Self::EditedSince => "edits made since overlap with it".to_owned(),
            Self::CreatedAndEdited => {
                "it was created by the run and has been edited since; delete it yourself if it shall go".to_owned()
            }
            Self::DeletedSince => "it has been deleted since".to_owned(),
            Self::MadeAnew => "it was deleted by the run, and something else is there now".to_owned(),
            Self::Unreadable { detail } | Self::NoSuchHunk { detail } => detail.clone(),
        }
    }
}

/// The plan for one file; `order` is `None` when nothing is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlan {
    pub path: RelPath,
    pub revert: FileRevert,
    pub order: Option<WriteOrder>,
}

/// Plans undoing `changes` of a file, oldest first, given what is there `now`.
pub fn plan(path: &RelPath, changes: &[Sides], now: &FileNow) -> FilePlan {
    let mut state = match State::of(now) {
        Ok(state) => state,
        Err(detail) => return left(path, LeftWhy::Unreadable { detail }),
    };
    let start = state.clone();
    let mut merged = false;
    for change in joined(changes).iter().rev() {
        match undo(change, &state) {
            Ok(Undone {
                state: next,
                by_merge,
            }) => {
                merged |= by_merge;
                state = next;
            }
            Err(why) => return left(path, why),
        }
    }
    finish(path, &start, state, merged)
}

/// As [`plan`], but edits made since do not hold it up: the file becomes what it was before the first of the changes.
pub fn plan_overruling(path: &RelPath, changes: &[Sides], now: &FileNow) -> FilePlan {
    let planned = plan(path, changes, now);
    let joined = joined(changes);
    let (FileRevert::Left { .. }, Some(first)) = (&planned.revert, joined.first()) else {
        return planned;
    };
    // Bytes that are no text can go, for the ledger keeps them; what was not looked at cannot.
    let (Ok(before), true) = (State::from_side(&first.before), is_known(now)) else {
        return planned;
    };
    let content = before
        .content
        .map_or(NewContent::Deleted, |(text, encoding)| NewContent::Text {
            text,
            encoding,
        });
    FilePlan {
        revert: FileRevert::Overruled,
        order: Some(WriteOrder {
            path: path.clone(),
            expected: now.hash().cloned(),
            content,
        }),
        ..planned
    }
}

fn is_known(now: &FileNow) -> bool {
    match now {
        FileNow::Absent { .. } | FileNow::Text(_) => true,
        FileNow::Opaque { hash, .. } => hash.is_some(),
        FileNow::Refused { .. } => false,
    }
}

/// Plans undoing some hunks of a file's changes: `ids` are those of [`hunks`] from what the changes found to what they left.
pub fn plan_hunks(path: &RelPath, changes: &[Sides], ids: &[u32], now: &FileNow) -> FilePlan {
    let no_hunks = |detail: String| left(path, LeftWhy::NoSuchHunk { detail });
    let joined = joined(changes);
    let [change] = joined.as_slice() else {
        return no_hunks(
            "it was edited between the run's changes, so these cannot be undone hunk by hunk; revert the file".to_owned(),
        );
    };
    let (
        Side::Text { text: before, .. },
        Side::Text {
            text: after,
            encoding,
            ..
        },
    ) = (&change.before, &change.after)
    else {
        return no_hunks(
            "it was created or deleted, which has no hunks; revert the file".to_owned(),
        );
    };
    let all = hunks(before, after);
    if let Some(unknown) = ids.iter().find(|id| all.iter().all(|hunk| hunk.id != **id)) {
        return no_hunks(format!("there is no hunk {unknown}"));
    }
    let kept: Vec<u32> = all
        .iter()
        .map(|hunk| hunk.id)
        .filter(|id| !ids.contains(id))
        .collect();
    match apply_hunks(before, &all, &kept) {
        Ok(wanted) => {
            let partial = Sides {
                before: Side::text(&wanted, *encoding),
                after: change.after.clone(),
            };
            let mut plan = plan(path, &[partial], now);
            // With some hunks kept it is not what it was before, even if nobody else has edited it.
            if plan.revert == FileRevert::Restored && !kept.is_empty() {
                plan.revert = FileRevert::Merged;
            }
            plan
        }
        Err(misfit) => no_hunks(misfit.to_string()),
    }
}

/// Changes that followed each other with nothing in between count as one: what they undid themselves needs no merging.
fn joined(changes: &[Sides]) -> Vec<Sides> {
    let mut joined: Vec<Sides> = Vec::new();
    for change in changes {
        match joined.last_mut() {
            Some(last) if last.after.same(&change.before) => last.after = change.after.clone(),
            _ => joined.push(change.clone()),
        }
    }
    joined.retain(|change| !change.before.same(&change.after));
    joined
}

/// The file while the plan is made.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    content: Option<(Arc<str>, Encoding)>,
    hash: Option<ContentHash>,
}

impl State {
    fn of(now: &FileNow) -> Result<Self, String> {
        match now {
            FileNow::Absent { .. } => Ok(Self {
                content: None,
                hash: None,
            }),
            FileNow::Text(now) => Ok(Self {
                content: Some((now.text.clone(), now.encoding)),
                hash: Some(now.hash.clone()),
            }),
            FileNow::Opaque { reason, .. } | FileNow::Refused { reason } => Err(reason.clone()),
        }
    }

    fn from_side(side: &Side) -> Result<Self, LeftWhy> {
        match side {
            Side::Absent => Ok(Self {
                content: None,
                hash: None,
            }),
            Side::Text {
                text,
                encoding,
                hash,
            } => Ok(Self {
                content: Some((text.clone(), *encoding)),
                hash: Some(hash.clone()),
            }),
            Side::Lost { reason } => Err(LeftWhy::Unreadable {
                detail: reason.clone(),
            }),
        }
    }
}

struct Undone {
    state: State,
    by_merge: bool,
}

fn undo(change: &Sides, state: &State) -> Result<Undone, LeftWhy> {
    let before = State::from_side(&change.before)?;
    let as_it_is = |state: &State| Undone {
        state: state.clone(),
        by_merge: false,
    };
    if state.hash.as_ref() == change.after.hash() && !matches!(change.after, Side::Lost { .. }) {
        return Ok(Undone {
            state: before,
            by_merge: false,
        });
    }
    if state.hash == before.hash {
        return Ok(as_it_is(state));
    }
    let (base, current, wanted) = match (&change.after, &state.content, &before.content) {
        (Side::Lost { reason }, ..) => {
            return Err(LeftWhy::Unreadable {
                detail: reason.clone(),
            });
        }
        (Side::Absent, ..) => return Err(LeftWhy::MadeAnew),
        (Side::Text { .. }, None, _) => return Err(LeftWhy::DeletedSince),
        (Side::Text { .. }, Some(_), None) => return Err(LeftWhy::CreatedAndEdited),
        (Side::Text { text, .. }, Some(current), Some((wanted, _))) => (text, current, wanted),
    };
    let (current, encoding) = current;
    match three_way(base, wanted, current) {
        Merge::Clean(text) => Ok(Undone {
            state: State {
                hash: Some(ContentHash::of(&encoding.encode(&text))),
                content: Some((text.into(), *encoding)),
            },
            by_merge: true,
        }),
        Merge::Conflict { .. } => Err(LeftWhy::EditedSince),
    }
}

fn finish(path: &RelPath, start: &State, end: State, merged: bool) -> FilePlan {
    if start.hash == end.hash {
        return FilePlan {
            path: path.clone(),
            revert: FileRevert::AlreadyAsBefore,
            order: None,
        };
    }
    let (content, revert) = match end.content {
        None => (NewContent::Deleted, FileRevert::Removed),
        Some((text, encoding)) => (
            NewContent::Text { text, encoding },
            if merged {
                FileRevert::Merged
            } else {
                FileRevert::Restored
            },
        ),
    };
    FilePlan {
        path: path.clone(),
        revert,
        order: Some(WriteOrder {
            path: path.clone(),
            expected: start.hash.clone(),
            content,
        }),
    }
}

fn left(path: &RelPath, why: LeftWhy) -> FilePlan {
    FilePlan {
        path: path.clone(),
        revert: FileRevert::Left { why },
        order: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::file::{TextNow, TextSource};

    const NONE: Option<&str> = None;

    fn side(text: Option<&str>) -> Side {
        text.map_or(Side::Absent, |text| Side::text(text, Encoding::Utf8))
    }

    fn changes(rows: &[(Option<&str>, Option<&str>)]) -> Vec<Sides> {
        rows.iter()
            .map(|(before, after)| Sides {
                before: side(*before),
                after: side(*after),
            })
            .collect()
    }

    fn now(text: Option<&str>) -> FileNow {
        let Some(text) = text else {
            return FileNow::Absent { nearest: vec![] };
        };
        let hash = ContentHash::of(text.as_bytes());
        FileNow::Text(TextNow {
            text: text.into(),
            hash: hash.clone(),
            encoding: Encoding::Utf8,
            source: TextSource::Disk,
            disk: Some(hash),
            newer_disk: false,
        })
    }

    fn short(plan: &FilePlan) -> String {
        let content = plan.order.as_ref().map(|order| match &order.content {
            NewContent::Text { text, .. } => format!("{text:?}"),
            NewContent::Deleted => "nothing".into(),
        });
        let outcome = match &plan.revert {
            FileRevert::Restored => "restored",
            FileRevert::Removed => "removed",
            FileRevert::Merged => "merged",
            FileRevert::AlreadyAsBefore => "already",
            FileRevert::Overruled => "overruled",
            FileRevert::Left { why } => return format!("left {why:?}"),
        };
        format!("{outcome} {}", content.unwrap_or_default())
            .trim_end()
            .to_owned()
    }

    type Row = (
        &'static [(Option<&'static str>, Option<&'static str>)],
        Option<&'static str>,
        &'static str,
    );

    #[test]
    fn only_what_the_run_wrote_is_taken_back() {
        let a = Some("a\nm\nz\n");
        let b = Some("b\nm\nz\n");
        let c = Some("c\nm\nz\n");
        let edited_apart = Some("b\nm\nmine\n");
        let edited_there = Some("mine\nm\nz\n");
        let rows: [Row; 18] = [
            // Created.
            (&[(NONE, Some("x"))], Some("x"), "removed nothing"),
            (&[(NONE, Some("x"))], None, "already"),
            (&[(NONE, Some("x"))], Some("mine"), "left CreatedAndEdited"),
            (
                &[(NONE, Some("x")), (Some("x"), Some("y"))],
                Some("y"),
                "removed nothing",
            ),
            (
                &[(NONE, Some("x")), (Some("x"), Some("y"))],
                Some("x"),
                "left CreatedAndEdited",
            ),
            (
                &[(NONE, Some("x")), (Some("x"), NONE)],
                Some("mine"),
                "already",
            ),
            // Edited.
            (
                &[(Some("a\nm\nz\n"), Some("b\nm\nz\n"))],
                b,
                "restored \"a\\nm\\nz\\n\"",
            ),
            (&[(Some("a\nm\nz\n"), Some("b\nm\nz\n"))], a, "already"),
            (
                &[(Some("a\nm\nz\n"), Some("b\nm\nz\n"))],
                edited_apart,
                "merged \"a\\nm\\nmine\\n\"",
            ),
            (
                &[(Some("a\nm\nz\n"), Some("b\nm\nz\n"))],
                edited_there,
                "left EditedSince",
            ),
            (
                &[(Some("a\nm\nz\n"), Some("b\nm\nz\n"))],
                None,
                "left DeletedSince",
            ),
            // Several changes, with nothing and with something in between.
            (
                &[
                    (Some("a\nm\nz\n"), Some("b\nm\nz\n")),
                    (Some("b\nm\nz\n"), Some("c\nm\nz\n")),
                ],
                c,
                "restored \"a\\nm\\nz\\n\"",
            ),
            (
                &[
                    (Some("a\nm\nz\n"), Some("b\nm\nz\n")),
                    (Some("b\nm\nmine\n"), Some("c\nm\nmine\n")),
                ],
                Some("c\nm\nmine\n"),
                "merged \"a\\nm\\nmine\\n\"",
            ),
            // Deleted.
            (&[(Some("x"), NONE)], None, "restored \"x\""),
            (&[(Some("x"), NONE)], Some("x"), "already"),
            (&[(Some("x"), NONE)], Some("mine"), "left MadeAnew"),
            // Deleted and made again by the run itself.
            (
                &[(Some("x"), NONE), (NONE, Some("y"))],
                Some("y"),
                "restored \"x\"",
            ),
            (&[], Some("x"), "already"),
        ];
        let path = RelPath::parse("f").unwrap();
        for (rows, file, want) in rows {
            let plan = plan(&path, &changes(rows), &now(file));
            assert_eq!(short(&plan), want, "{rows:?} {file:?}");
            if let Some(order) = plan.order {
                assert_eq!(order.expected.as_ref(), now(file).hash());
            }
        }
    }

    #[test]
    fn edits_made_since_are_overruled_only_where_they_are_in_the_way() {
        let edited: &[(Option<&str>, Option<&str>)] = &[(Some("a\nm\nz\n"), Some("b\nm\nz\n"))];
        let created: &[(Option<&str>, Option<&str>)] = &[(NONE, Some("x"))];
        let deleted: &[(Option<&str>, Option<&str>)] = &[(Some("x"), NONE)];
        let rows = [
            (created, Some("mine"), "overruled nothing"),
            (created, Some("x"), "removed nothing"),
            (edited, Some("mine\nm\nz\n"), "overruled \"a\\nm\\nz\\n\""),
            (edited, Some("b\nm\nmine\n"), "merged \"a\\nm\\nmine\\n\""),
            (edited, NONE, "overruled \"a\\nm\\nz\\n\""),
            (deleted, Some("mine"), "overruled \"x\""),
        ];
        let path = RelPath::parse("f").unwrap();
        for (rows, file, want) in rows {
            let plan = plan_overruling(&path, &changes(rows), &now(file));
            assert_eq!(short(&plan), want, "{rows:?} {file:?}");
            let order = plan.order.unwrap();
            assert_eq!(order.expected.as_ref(), now(file).hash());
        }
        let binary = |hash| FileNow::Opaque {
            hash,
            size: 1,
            reason: "it is binary".into(),
        };
        let known = binary(Some(ContentHash::of(b"\0")));
        let plan = plan_overruling(&path, &changes(created), &known);
        assert_eq!(short(&plan), "overruled nothing");
        let plan = plan_overruling(&path, &changes(created), &binary(None));
        assert!(short(&plan).starts_with("left Unreadable"));
    }

    #[test]
    fn hunks_are_taken_back_one_by_one() {
        let path = RelPath::parse("f").unwrap();
        let change = changes(&[(Some("a\nm\nz\n"), Some("A\nm\nZ\n"))]);
        let rows: [(&[u32], &str, &str); 5] = [
            (&[0], "A\nm\nZ\n", "merged \"a\\nm\\nZ\\n\""),
            (&[0, 1], "A\nm\nZ\n", "restored \"a\\nm\\nz\\n\""),
            (&[1], "A\nm\nZ\nmore\n", "left EditedSince"),
            (&[0], "A\nm\nZ\nmore\n", "merged \"a\\nm\\nZ\\nmore\\n\""),
            (
                &[7],
                "A\nm\nZ\n",
                "left NoSuchHunk { detail: \"there is no hunk 7\" }",
            ),
        ];
        for (ids, file, want) in rows {
            assert_eq!(
                short(&plan_hunks(&path, &change, ids, &now(Some(file)))),
                want,
                "{ids:?}"
            );
        }
        let created = changes(&[(NONE, Some("x"))]);
        assert!(short(&plan_hunks(&path, &created, &[0], &now(Some("x")))).contains("NoSuchHunk"));
    }

    #[test]
    fn what_is_lost_is_left_and_said() {
        let path = RelPath::parse("f").unwrap();
        let lost = Side::Lost {
            reason: "the snapshot is damaged".into(),
        };
        let change = Sides {
            before: lost.clone(),
            after: side(Some("x")),
        };
        let plan = plan(&path, &[change], &now(Some("x")));
        assert_eq!(
            short(&plan),
            "left Unreadable { detail: \"the snapshot is damaged\" }"
        );
        let change = Sides {
            before: side(Some("a")),
            after: lost,
        };
        assert!(
            short(&super::plan(
                &path,
                std::slice::from_ref(&change),
                &now(None)
            ))
            .starts_with("left Unreadable")
        );
        assert!(
            short(&super::plan(&path, &[change], &now(Some("x")))).starts_with("left Unreadable")
        );
    }
}
