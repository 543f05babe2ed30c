//! Reads `rules.toml` and finds the first rule that matches.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};
use serde::Deserialize;

use crate::kernel::conversation::ModelErrorKind;
use crate::model::pattern::constant;

use super::Stage;
use super::facts::Facts;
use super::numbers;

#[derive(Deserialize)]
struct Table {
    rule: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    kind: ModelErrorKind,
    #[serde(default)]
    codes: Vec<String>,
    #[serde(default)]
    phrases: Vec<String>,
    #[serde(default)]
    finish: Vec<String>,
    #[serde(default)]
    unless: Vec<String>,
    #[serde(default)]
    status: Vec<u16>,
    #[serde(default)]
    stage: Vec<Stage>,
    #[serde(default)]
    decide: Option<Question>,
}

/// What no list can answer.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Question {
    /// The end of a turn that carries no error and no reason worth a name.
    FinishWithoutError,
    /// A per-minute limit that the request alone is over: waiting never helps.
    RequestedMoreThanLimit,
    /// "You exceeded your current quota": money, a day's cap or a minute's.
    AmbiguousQuota,
    /// A text over a limit that is too small to be the prompt's: a name, an id.
    ShortStringLimit,
    NotFoundNamesAModel,
    #[serde(rename = "status_5xx")]
    Status5xx,
    #[serde(rename = "status_3xx_4xx")]
    Status3xx4xx,
}

struct Rule {
    row: Row,
    phrases: RegexSet,
    unless: RegexSet,
}

static RULES: LazyLock<Vec<Rule>> =
    LazyLock::new(|| read(include_str!("rules.toml")).unwrap_or_default());

fn read(text: &str) -> Result<Vec<Rule>, String> {
    let table: Table = toml::from_str(text).map_err(|error| error.to_string())?;
    table
        .rule
        .into_iter()
        .map(|row| {
            let compiled = |list: &[String]| {
                RegexSet::new(list).map_err(|error| format!("{}: {error}", row.name))
            };
            let (phrases, unless) = (compiled(&row.phrases)?, compiled(&row.unless)?);
            Ok(Rule {
                row,
                phrases,
                unless,
            })
        })
        .collect()
}

/// The kind of the first rule that matches, and the rule's name.
pub fn decide(facts: &Facts) -> (ModelErrorKind, String) {
    RULES
        .iter()
        .find(|rule| rule.matches(facts))
        .map_or((ModelErrorKind::Unknown, "none".to_owned()), |rule| {
            (rule.row.kind, rule.row.name.clone())
        })
}

impl Rule {
    fn matches(&self, facts: &Facts) -> bool {
        let row = &self.row;
        if !row.status.is_empty() && !has_status(&row.status, facts.status) {
            return false;
        }
        if !row.stage.is_empty() && !facts.stage.is_some_and(|stage| row.stage.contains(&stage)) {
            return false;
        }
        let lists_nothing = row.codes.is_empty() && row.phrases.is_empty() && row.finish.is_empty();
        let is_listed = row.codes.iter().any(|code| facts.has_code(code))
            || facts
                .finish
                .iter()
                .any(|reason| row.finish.contains(reason))
            || self.phrases.is_match(&facts.text);
        if !(lists_nothing || is_listed) || self.unless.is_match(&facts.text) {
            return false;
        }
        row.decide
            .is_none_or(|question| question.is_answered_yes(facts))
    }
}

fn has_status(wanted: &[u16], status: Option<u16>) -> bool {
    match status {
        Some(status) if status >= 300 => wanted.contains(&status),
        Some(_) | None => wanted.contains(&0),
    }
}

static QUOTA_SENTENCE: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"exceeded your current quota|check your plan and billing|quota exceeded|per[ -]day|daily (limit|cap|quota)|requests? today",
    )
});
static NO_LIMIT_AT_ALL: LazyLock<Regex> = LazyLock::new(|| constant(r"\blimit: 0\b"));
static WAIT_WORDS: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(retry|try again|wait)\D{0,20}\d|per[ _-]?minute|per minute|_per_minute|/min\b|submit a quota increase|resource has been exhausted",
    )
});
static STRING_LIMIT: LazyLock<Regex> =
    LazyLock::new(|| constant(r"string too long.{0,60}maximum length (\d+)"));
static NAMES_A_MODEL: LazyLock<Regex> = LazyLock::new(|| constant(r"^\s*models?\s*[:/]|\bmodel\b"));

impl Question {
    fn is_answered_yes(self, facts: &Facts) -> bool {
        match self {
            Self::FinishWithoutError => facts.stage == Some(Stage::Finish) && !facts.has_error,
            Self::RequestedMoreThanLimit => numbers::requested_over_limit(&facts.text)
                .is_some_and(|(requested, limit)| requested > limit),
            Self::AmbiguousQuota => is_long_lasting_quota(facts),
            Self::ShortStringLimit => STRING_LIMIT
                .captures(&facts.text)
                .and_then(|found| found.get(1)?.as_str().parse::<u64>().ok())
                .is_some_and(|limit| limit < 100_000),
            Self::NotFoundNamesAModel => {
                (facts.status == Some(404)
                    || facts.has_code("notfounderror")
                    || facts.has_code("notfound"))
                    && NAMES_A_MODEL.is_match(&facts.text)
            }
            Self::Status5xx => facts.status.is_some_and(|status| status >= 500),
            Self::Status3xx4xx => facts
                .status
                .is_some_and(|status| (300..500).contains(&status)),
        }
    }
}

/// The same sentence stands for a prepaid balance, a day's cap, a minute's cap and no access at all. The fields tell.
fn is_long_lasting_quota(facts: &Facts) -> bool {
    let names = |period: &str| facts.codes.iter().any(|code| code.contains(period));
    if NO_LIMIT_AT_ALL.is_match(&facts.text) || names("perday") {
        return true;
    }
    if !QUOTA_SENTENCE.is_match(&facts.text) {
        return false;
    }
    let helps_to_wait =
        names("perminute") || facts.retry_delay.is_some() || WAIT_WORDS.is_match(&facts.text);
    let is_plain_throttle = facts.text.contains("quota exceeded")
        && !facts.text.contains("day")
        && !facts.text.contains("billing");
    !helps_to_wait && !is_plain_throttle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_readable_and_every_rule_has_its_own_name() {
        let rules = read(include_str!("rules.toml")).unwrap();
        let names: std::collections::HashSet<&str> =
            rules.iter().map(|rule| rule.row.name.as_str()).collect();
        assert_eq!(names.len(), rules.len());
        for rule in &rules {
            for code in &rule.row.codes {
                assert_eq!(
                    *code,
                    super::super::facts::code(code),
                    "{code} is not normalised"
                );
            }
        }
    }
}
