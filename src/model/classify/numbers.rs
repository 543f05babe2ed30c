//! Numbers that error texts give: how long to wait, how many tokens there were and how many may be.

use std::sync::LazyLock;

use regex::Regex;

use crate::kernel::conversation::TokenCounts;
use crate::model::pattern::constant;

use super::Signal;
use super::facts::Facts;

/// How long the provider asks us to wait: headers first, then fields of the body, then its words.
pub fn retry_after_ms(signal: &Signal, facts: &Facts) -> Option<u64> {
    let header = |wanted: &str| {
        signal
            .headers
            .iter()
            .find(|(name, _)| name == wanted)
            .map(|(_, value)| value.as_str())
    };
    let from_ms = header("retry-after-ms").and_then(|value| value.trim().parse::<f64>().ok());
    if let Some(ms) = from_ms.and_then(whole_ms) {
        return Some(ms);
    }
    if let Some(value) = header("retry-after") {
        if let Some(ms) = value
            .trim()
            .parse::<f64>()
            .ok()
            .and_then(|seconds| whole_ms(seconds * 1000.0))
        {
            return Some(ms);
        }
        if let Some(ms) = until(http_date(value), signal.now_ms) {
            return Some(ms);
        }
    }
    if let Some(ms) = facts.retry_delay.as_deref().and_then(duration_ms) {
        return Some(ms);
    }
    if let Some(ms) = facts
        .inner_headers
        .iter()
        .find_map(|(name, value)| inner_reset(name, value, signal.now_ms))
    {
        return Some(ms);
    }
    if let Some(ms) = signal
        .headers
        .iter()
        .find_map(|(name, value)| exhausted_reset(signal, name, value))
    {
        return Some(ms);
    }
    if let Some(found) = WAIT.captures(&facts.text)
        && let Some(ms) = found.get(1).and_then(|span| duration_ms(span.as_str()))
    {
        return Some(ms);
    }
    let date = DATE.captures(&facts.text).and_then(|found| date_ms(&found));
    until(date, signal.now_ms)
}

/// "try again in 1m2.5s", "retry after 60 seconds", "wait 2 minutes".
static WAIT: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?:retry|try again|wait|resets?|available)(?:\w| )*?(?: in| after| for| ~)? ?((?:\d+(?:\.\d+)? ?(?:milliseconds?|ms|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|s|m|h|d) ?)+)\b",
    )
});
static SPAN: LazyLock<Regex> = LazyLock::new(|| constant(r"(\d+(?:\.\d+)?) ?([a-z]+)"));

/// `26s`, `1m2.5s`, `120ms`, `60 seconds` in milliseconds.
fn duration_ms(text: &str) -> Option<u64> {
    let mut total = 0.0;
    let mut found_any = false;
    for part in SPAN.captures_iter(text) {
        let amount: f64 = part.get(1)?.as_str().parse().ok()?;
        let unit = match part.get(2)?.as_str() {
            "ms" | "millisecond" | "milliseconds" => 1.0,
            "s" | "sec" | "secs" | "second" | "seconds" => 1000.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000.0,
            "d" | "day" | "days" => 86_400_000.0,
            _ => return None,
        };
        total += amount * unit;
        found_any = true;
    }
    if found_any { whole_ms(total) } else { None }
}

fn whole_ms(ms: f64) -> Option<u64> {
    const YEAR_MS: f64 = 366.0 * 86_400_000.0;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    // In range: checked right here.
    (ms.is_finite() && (0.0..=YEAR_MS).contains(&ms)).then(|| ms.ceil() as u64)
}

fn until(then_ms: Option<i64>, now_ms: Option<i64>) -> Option<u64> {
    u64::try_from(then_ms? - now_ms?).ok()
}

/// `x-ratelimit-reset` inside a gateway's body: milliseconds or seconds since 1970.
fn inner_reset(name: &str, value: &str, now_ms: Option<i64>) -> Option<u64> {
    if name == "retry-after" {
        return value
            .parse::<f64>()
            .ok()
            .and_then(|seconds| whole_ms(seconds * 1000.0));
    }
    if name != "x-ratelimit-reset" {
        return None;
    }
    let number: i64 = value.trim().parse().ok()?;
    let then = if number > 100_000_000_000 {
        number
    } else {
        number.checked_mul(1000)?
    };
    until(Some(then), now_ms)
}

/// `x-ratelimit-reset-tokens: 6ms`, `anthropic-ratelimit-tokens-reset: 2026-…Z`, where nothing remains of that budget.
fn exhausted_reset(signal: &Signal, name: &str, value: &str) -> Option<u64> {
    let remaining = if let Some(what) = name.strip_prefix("x-ratelimit-reset-") {
        format!("x-ratelimit-remaining-{what}")
    } else {
        format!(
            "{}-remaining",
            name.strip_prefix("anthropic-ratelimit-")
                .and_then(|rest| rest.strip_suffix("-reset"))
                .map(|what| format!("anthropic-ratelimit-{what}"))?
        )
    };
    let is_used_up = signal
        .headers
        .iter()
        .any(|(name, value)| *name == remaining && value.trim() == "0");
    if !is_used_up {
        return None;
    }
    let lower = value.to_lowercase();
    duration_ms(&lower)
        .filter(|_| !lower.contains('t'))
        .or_else(|| {
            until(
                DATE.captures(&lower).and_then(|found| date_ms(&found)),
                signal.now_ms,
            )
        })
}

/// A date with a time, as RFC 3339 or in a sentence ("2026-01-01 at 00:00 UTC").
static DATE: LazyLock<Regex> =
    LazyLock::new(|| constant(r"(\d{4})-(\d\d)-(\d\d)(?:t| at | )(\d\d):(\d\d)(?::(\d\d))?"));

fn date_ms(found: &regex::Captures) -> Option<i64> {
    let field = |index: usize| {
        found
            .get(index)
            .map_or(Some(0), |part| part.as_str().parse::<i64>().ok())
    };
    let days = days_since_1970(field(1)?, field(2)?, field(3)?)?;
    Some(((days * 24 + field(4)?) * 60 + field(5)?) * 60_000 + field(6)? * 1000)
}

static HTTP_DATE: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)(\d{1,2}) (jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec) (\d{4}) (\d\d):(\d\d):(\d\d)",
    )
});

/// `Wed, 21 Oct 2026 07:28:00 GMT` in milliseconds since 1970.
pub fn http_date(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let found = HTTP_DATE.captures(text)?;
    let number = |index: usize| {
        found
            .get(index)
            .and_then(|part| part.as_str().parse::<i64>().ok())
    };
    let name = found.get(2)?.as_str().to_lowercase();
    let month = MONTHS.iter().position(|month| *month == name)?;
    let days = days_since_1970(number(3)?, i64::try_from(month).ok()? + 1, number(1)?)?;
    Some((((days * 24 + number(4)?) * 60 + number(5)?) * 60 + number(6)?) * 1000)
}

/// Days of the proleptic Gregorian calendar.
fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years are counted from March, so that the leap day comes last.
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let days_before =
        year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    Some(days_before - 719_468)
}

static REQUESTED: LazyLock<Regex> =
    LazyLock::new(|| constant(r"limit:? ([\d,]+)\b.{0,40}?requested:? ([\d,]+)"));

/// (requested, limit) of "Limit 30000, Used 5, Requested 30601".
pub fn requested_over_limit(text: &str) -> Option<(u64, u64)> {
    let found = REQUESTED.captures(text)?;
    Some((
        number(found.get(2)?.as_str())?,
        number(found.get(1)?.as_str())?,
    ))
}

/// Patterns with groups `a`ctual and `l`imit, or two summands `a` + `b` against the limit.
static COUNTS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    vec![
        constant(r"(?P<a>[\d,_]+) \+ (?P<b>[\d,_]+) > (?P<l>[\d,_]+)"),
        constant(r"(?P<a>[\d,_]+)(?: tokens?)? > (?P<l>[\d,_]+)"),
        constant(r"requested (?P<a>[\d,_]+), limit (?P<l>[\d,_]+)"),
        constant(
            r"(?:context|prompt|input|sequence) (?:length|size|window)(?: \w+){0,4}? (?P<l>\d[\d,_]*)\b.{0,80}?(?:requested|resulted in|contains?|has|have|with|about)(?: \w+){0,3}? (?P<a>\d[\d,_]*)",
        ),
        constant(
            r"(?:token count|tokens?|input|prompt|request|length)(?: \w+){0,3}? \(?(?P<a>\d[\d,_]*)(?: tokens?)?\)?.{0,60}?(?:exceeds?|longer|larger|greater|over|too large).{0,60}?\(?(?P<l>\d[\d,_]*)",
        ),
        constant(r"first (?P<a>\d[\d,_]*) tokens.{0,90}?(?P<l>\d[\d,_]*) tokens"),
        constant(r"prompt (?:has|contains) (?P<a>\d[\d,_]*) tokens.{0,80}?(?P<l>\d[\d,_]*)"),
        constant(r"current length is (?P<a>\d[\d,_]*) while limit is (?P<l>\d[\d,_]*)"),
        constant(
            r"limit of (?P<l>\d[\d,_]*) tokens.{0,60}?(?:resulted in|has|contains?) (?P<a>\d[\d,_]*)",
        ),
        constant(r"maximum length (?P<l>\d[\d,_]*).{0,60}?length (?P<a>\d[\d,_]*)"),
    ]
});

/// Tokens the request had and tokens allowed, where the text or its fields say so.
pub fn token_counts(facts: &Facts) -> Option<TokenCounts> {
    if facts.prompt_tokens.is_some() || facts.window_tokens.is_some() {
        return Some(TokenCounts {
            actual: facts.prompt_tokens,
            limit: facts.window_tokens,
        });
    }
    if let Some((requested, limit)) = requested_over_limit(&facts.text) {
        return Some(TokenCounts {
            actual: Some(requested),
            limit: Some(limit),
        });
    }
    if !facts.text.contains("token") {
        return None;
    }
    COUNTS.iter().find_map(|pattern| {
        let found = pattern.captures(&facts.text)?;
        let group = |name: &str| found.name(name).and_then(|part| number(part.as_str()));
        let actual = group("a")?.checked_add(group("b").unwrap_or(0))?;
        Some(TokenCounts {
            actual: Some(actual),
            limit: Some(group("l")?),
        })
    })
}

fn number(text: &str) -> Option<u64> {
    text.replace([',', '_'], "").parse().ok()
}
