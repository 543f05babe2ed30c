//! `cargo check` on small projects, through the same door as the app.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use outrigger::gates::{GateRequest, Gates, Tier};
use outrigger::kernel::finding::{GateReport, Outcome, Severity};

const MANIFEST: &str = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";

fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

async fn check(files: &[(&str, &str)]) -> (Vec<GateReport>, tempfile::TempDir, usize) {
    let project = tempfile::tempdir().unwrap();
    let cache = tempfile::tempdir().unwrap();
    write(project.path(), files);
    let gates = Gates::new(project.path().to_owned(), cache.path().to_owned());
    let heard = AtomicUsize::new(0);
    let request = GateRequest::new(Vec::new(), Tier::AfterChange);
    let reports = gates
        .run(request, || {
            heard.fetch_add(1, Ordering::Relaxed);
        })
        .await;
    (reports, project, heard.into_inner())
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn an_error_becomes_an_exact_finding_and_the_project_stays_as_it_was() {
    let text = "\tpub fn f() -> i32 { let s = \"é漢😀\"; undefined_name }\r\n";
    let (reports, project, heard) = check(&[("Cargo.toml", MANIFEST), ("src/lib.rs", text)]).await;
    let [report] = reports.as_slice() else {
        panic!("{reports:#?}")
    };
    assert_eq!(report.outcome, Outcome::Fail, "{report:#?}");
    let errors: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .collect();
    let [finding] = errors.as_slice() else {
        panic!("{report:#?}")
    };
    assert_eq!(finding.code.as_deref(), Some("E0425"));
    assert_eq!(finding.source, "cargo");
    let place = finding.place.as_ref().unwrap();
    assert_eq!(place.file.to_string(), "src/lib.rs");
    let start = text.find("undefined_name").unwrap();
    let units = text[..start].encode_utf16().count();
    assert_eq!(
        (
            place.range.start.utf16 as usize,
            place.range.end.utf16 as usize
        ),
        (units, units + 14)
    );
    assert_eq!(place.bytes.0 as usize, start);
    assert!(heard > 0);
    assert_eq!(names(project.path()), ["Cargo.toml", "src"], "nothing new");
}

#[tokio::test]
async fn clean_code_passes() {
    let (reports, ..) = check(&[("Cargo.toml", MANIFEST), ("src/lib.rs", "pub fn f() {}\n")]).await;
    assert_eq!(reports[0].outcome, Outcome::Pass, "{reports:#?}");
    assert!(reports[0].findings.is_empty());
    assert!(reports[0].duration_ms > 0);
}

#[tokio::test]
async fn a_broken_manifest_is_shown_in_the_manifest() {
    let manifest = "[package]\nname = \"demo\"\nversion = 0.1\n";
    let (reports, ..) = check(&[("Cargo.toml", manifest), ("src/lib.rs", "")]).await;
    assert_eq!(reports[0].outcome, Outcome::Fail, "{reports:#?}");
    assert_eq!(reports[0].findings[0].at(), "Cargo.toml:3:11");
}

#[tokio::test]
async fn a_failed_build_script_is_shown_where_it_panicked() {
    let script = "fn main() {\n\tpanic!(\"no 漢\");\n}\n";
    let (reports, ..) = check(&[
        ("Cargo.toml", MANIFEST),
        ("build.rs", script),
        ("src/lib.rs", ""),
    ])
    .await;
    assert_eq!(reports[0].outcome, Outcome::Fail, "{reports:#?}");
    assert_eq!(reports[0].findings[0].at(), "build.rs:2:2");
    assert!(
        reports[0].findings[0].message.starts_with("no 漢"),
        "{reports:#?}"
    );
}

#[tokio::test]
async fn a_project_without_cargo_has_no_gate() {
    let (reports, ..) = check(&[("a.txt", "x")]).await;
    assert!(reports.is_empty(), "{reports:#?}");
}
