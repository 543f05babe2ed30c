//! Real errors of real providers. `OUTRIGGER_PROVIDER_ERRORS=FILE` takes another file of the same form.

use outrigger::kernel::conversation::{ModelErrorKind, ModelFailure};
use outrigger::model::classify::{Signal, classify};
use outrigger::model::script::RecordedError;

/// The rows of the file in use; a row that cannot be read is a failure, not a row less.
pub fn rows() -> Vec<RecordedError> {
    let own = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/provider-errors.jsonl"
    );
    let path = std::env::var("OUTRIGGER_PROVIDER_ERRORS").unwrap_or_else(|_| own.to_owned());
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let rows = text.lines().filter(|row| !row.trim().is_empty());
    rows.map(|row| serde_json::from_str(row).unwrap_or_else(|error| panic!("{row}: {error}")))
        .collect()
}

fn direct(row: &RecordedError) -> ModelFailure {
    let mut signal = Signal::new(row.stage, &row.body).provider(&row.provider);
    signal.status = row.status;
    classify(&signal)
}

#[test]
fn classify_recorded_errors() {
    let rows = rows();
    let mut right = 0;
    for row in &rows {
        let failure = direct(row);
        if failure.kind == row.class {
            right += 1;
        } else {
            println!(
                "{} {}: is {:?}, was taken for {:?} by {}",
                row.id, row.provider, row.class, failure.kind, failure.rule
            );
        }
    }
    println!("right {right} of {}", rows.len());
    assert_eq!(right, rows.len());
}

#[test]
fn no_failure_is_without_advice_and_no_unknown_is_retried() {
    for row in rows() {
        let failure = direct(&row);
        assert!(
            failure.advice.ends_with('.') && failure.raw.len() <= 4096,
            "{failure:?}"
        );
        assert!(failure.kind != ModelErrorKind::Unknown || !failure.retryable);
    }
}

#[test]
fn wordings_beside_the_recorded_ones_are_understood() {
    let mut wrong = Vec::new();
    for row in include_str!("error_variants.tsv")
        .lines()
        .filter(|row| !row.starts_with('#'))
    {
        let mut cells = row.splitn(4, '\t');
        let mut cell = || cells.next().unwrap_or_else(|| panic!("{row}"));
        let status: u16 = cell().parse().unwrap();
        let stage = serde_json::from_value(cell().into()).unwrap();
        let kind: ModelErrorKind = serde_json::from_value(cell().into()).unwrap();
        let mut signal = Signal::new(stage, cell());
        signal.status = (status != 0).then_some(status);
        let failure = classify(&signal);
        if failure.kind != kind {
            wrong.push(format!(
                "{kind:?}, was taken for {:?} by {}: {}",
                failure.kind, failure.rule, signal.body
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
