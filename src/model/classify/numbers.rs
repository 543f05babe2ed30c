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
    let from_ms = header("retry-after-ms")
        .or_else(|| header("x-ms-retry-after-ms"))
        .and_then(|value| value.trim().parse::<f64>().ok());
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
    if let Some(ms) = signal
        .headers
        .iter()
        .find_map(|(name, value)| plain_reset(name, value, signal.now_ms))
    {
        return Some(ms);
    }
    if let Some(found) = WAIT.captures(&facts.text)
        && let Some(ms) = found.get(1).and_then(|span| duration_ms(span.as_str()))
    {
        return Some(ms);
    }
    if let Some(ms) = CLOCK.captures(&facts.text).and_then(|found| {
        let part = |index| found.get(index)?.as_str().parse::<f64>().ok();
        whole_ms(((part(1)? * 60.0 + part(2)?) * 60.0 + part(3)?) * 1000.0)
    }) {
        return Some(ms);
    }
    let stamp = STAMP.captures(&facts.text).and_then(|found| {
        let seconds: i64 = found.get(1)?.as_str().parse().ok()?;
        seconds.checked_mul(1000)
    });
    let date = || DATE.captures(&facts.text).and_then(|found| date_ms(&found));
    until(stamp.or_else(date), signal.now_ms)
}

/// "try again in 1m2.5s", "retry after 60 seconds", "wait 2 minutes".
static WAIT: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?:retry|try again|wait|resets?|replenished|available)(?:\w| )*?(?: in| after| for| ~)? ?((?:(?:\d+(?:\.\d+)?|an?) ?(?:milliseconds?|ms|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|s|m|h|d)(?: ?(?:,|and) ?| ?))+)\b",
    )
});
/// "in 00:01:40".
static CLOCK: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"(?:retry|again|wait|reset|replenished)\D{0,24}\bin (\d{1,3}):(\d\d):(\d\d)\b")
});
/// "limit reached|1796083260": seconds since 1970.
static STAMP: LazyLock<Regex> =
    LazyLock::new(|| constant(r"(?:limit|reset|again|until)\D{0,24}\b(1[6-9]\d{8}|2\d{9})\b"));
static SPAN: LazyLock<Regex> = LazyLock::new(|| constant(r"(?:(\d+(?:\.\d+)?) ?|\ban? )([a-z]+)"));

/// `26s`, `1m2.5s`, `120ms`, `60 seconds` in milliseconds.
fn duration_ms(text: &str) -> Option<u64> {
    let mut total = 0.0;
    let mut found_any = false;
    for part in SPAN.captures_iter(text) {
        // "a minute" has no digits.
        let amount: f64 = match part.get(1) {
            Some(digits) => digits.as_str().parse().ok()?,
            None => 1.0,
        };
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

/// A field of the body that says when; its name has only letters and digits.
fn inner_reset(name: &str, value: &str, now_ms: Option<i64>) -> Option<u64> {
    let value = value.trim();
    let Ok(number) = value.parse::<f64>() else {
        let lower = value.to_lowercase();
        let date = DATE.captures(&lower).and_then(|found| date_ms(&found));
        return until(date, now_ms).or_else(|| duration_ms(&lower));
    };
    if name.ends_with("ms") || name.ends_with("milliseconds") {
        return whole_ms(number);
    }
    moment_or_span(number, now_ms)
}

/// `x-ratelimit-reset`, `ratelimit-reset`, `anthropic-ratelimit-unified-reset`: a moment since 1970 or seconds from now.
fn plain_reset(name: &str, value: &str, now_ms: Option<i64>) -> Option<u64> {
    let says_it = matches!(
        name,
        "x-ratelimit-reset"
            | "ratelimit-reset"
            | "x-rate-limit-reset"
            | "x-ratelimit-reset-after"
            | "anthropic-ratelimit-unified-reset"
    );
    says_it
        .then(|| value.trim().parse().ok())
        .flatten()
        .and_then(|number| moment_or_span(number, now_ms))
}

/// Milliseconds or seconds since 1970 where the number is large enough for that; else seconds from now.
fn moment_or_span(number: f64, now_ms: Option<i64>) -> Option<u64> {
    const SINCE_1970_MS: f64 = 1e11;
    const SINCE_1970_S: f64 = 1e9;
    if number < SINCE_1970_S {
        return whole_ms(number * 1000.0);
    }
    let then = if number > SINCE_1970_MS {
        number
    } else {
        number * 1000.0
    };
    #[allow(clippy::cast_possible_truncation)] // Cut at the ends of the range.
    let then = then as i64;
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

#[cfg(test)]
mod tests {
    use super::super::{Signal, Stage, classify};

    /// 2026-12-01T00:00:00Z
    const NOW: i64 = 1_796_083_200_000;

    fn wait(headers: &[(&str, &str)], body: &str) -> Option<u64> {
        let headers: Vec<(String, String)> = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let mut signal = Signal::new(Stage::Http, body).status(429).headers(&headers);
        signal.now_ms = Some(NOW);
        classify(&signal).retry_after_ms
    }

    #[test]
    fn every_way_to_say_when_is_read() {
        let texts = [
            ("Please try again in 1.2s.", Some(1_200)),
            ("Please try again in 120ms.", Some(120)),
            ("Please try again in 6m0s.", Some(360_000)),
            ("Please try again in 1h2m3.5s.", Some(3_723_500)),
            ("Please retry in 29.019961092s.", Some(29_020)),
            ("Please retry after 12 seconds.", Some(12_000)),
            ("Try again in 17 seconds.", Some(17_000)),
            ("Please wait 23 seconds before retrying.", Some(23_000)),
            ("Your quota will reset after 26s.", Some(26_000)),
            (
                "Rate limit resets in 4 minutes and 30 seconds",
                Some(270_000),
            ),
            ("Quota will be replenished in 00:01:40.", Some(100_000)),
            ("please try again after 1 seconds", Some(1_000)),
            ("wait a minute and try again", Some(60_000)),
            ("Try again in an hour", Some(3_600_000)),
            ("try again in about 2 hours", Some(7_200_000)),
            ("usage limit reached|1796083260", Some(60_000)),
            (
                "You will regain access on 2026-12-01 at 00:05 UTC.",
                Some(300_000),
            ),
            ("Limit resets at 2026-12-01T00:00:30Z", Some(30_000)),
            ("the limit is 20 requests per minute", None),
            ("rate limit exceeded", None),
        ];
        for (text, wanted) in texts {
            let json = serde_json::json!({ "error": { "message": text } }).to_string();
            for body in [text, json.as_str()] {
                assert_eq!(wait(&[], body), wanted, "{body}");
            }
        }
    }

    #[test]
    fn fields_of_the_body_say_when() {
        let bodies = [
            (
                r#"{"error":{"details":[{"retryDelay":"34.074824224s"}]}}"#,
                34_075,
            ),
            (
                r#"{"error":{"message":"x","resets_in_seconds":5400}}"#,
                5_400_000,
            ),
            (
                r#"{"error":{"message":"x","resets_at":1796083260}}"#,
                60_000,
            ),
            (r#"{"error":{"message":"x","retry_after":2.5}}"#, 2_500),
            (r#"{"error":{"message":"x","retry_after_ms":250}}"#, 250),
            (r#"{"error":{"message":"x","retryAfter":"7"}}"#, 7_000),
            (
                r#"{"error":{"metadata":{"headers":{"X-RateLimit-Reset":"1796083230000"}}}}"#,
                30_000,
            ),
            (r#"{"error":"loading","estimated_time":20.0}"#, 20_000),
        ];
        for (body, wanted) in bodies {
            assert_eq!(wait(&[], body), Some(wanted), "{body}");
        }
    }

    #[test]
    fn headers_say_when_before_words_do() {
        type Row<'a> = (&'a [(&'a str, &'a str)], Option<u64>);
        let rows: [Row; 12] = [
            (&[("retry-after", "7")], Some(7_000)),
            (
                &[("retry-after", "Tue, 01 Dec 2026 00:00:09 GMT")],
                Some(9_000),
            ),
            (
                &[("retry-after-ms", "150"), ("retry-after", "1")],
                Some(150),
            ),
            (&[("x-ms-retry-after-ms", "400")], Some(400)),
            (
                &[
                    ("x-ratelimit-reset-requests", "6m0s"),
                    ("x-ratelimit-remaining-requests", "0"),
                ],
                Some(360_000),
            ),
            (
                &[
                    ("x-ratelimit-reset-requests", "6m0s"),
                    ("x-ratelimit-remaining-requests", "3"),
                ],
                Some(1_000),
            ),
            (
                &[
                    ("anthropic-ratelimit-tokens-reset", "2026-12-01T00:00:20Z"),
                    ("anthropic-ratelimit-tokens-remaining", "0"),
                ],
                Some(20_000),
            ),
            (
                &[("anthropic-ratelimit-unified-reset", "1796083290")],
                Some(90_000),
            ),
            (&[("x-ratelimit-reset", "1796083215")], Some(15_000)),
            (&[("x-ratelimit-reset", "45")], Some(45_000)),
            (&[("ratelimit-reset", "8")], Some(8_000)),
            (&[("retry-after", "soon")], Some(1_000)),
        ];
        for (headers, wanted) in rows {
            assert_eq!(
                wait(headers, "Please try again in 1s."),
                wanted,
                "{headers:?}"
            );
        }
    }
}
