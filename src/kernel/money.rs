//! Amounts of money, in whole millionths of a US dollar, so that sums are exact.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// US dollars; on the wire and in settings a number such as `0.25`.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Default,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(try_from = "f64", into = "f64")]
#[schemars(with = "f64")]
pub struct Dollars {
    pub micros: u64,
}

impl Dollars {
    pub const fn from_micros(micros: u64) -> Self {
        Self { micros }
    }
}

impl TryFrom<f64> for Dollars {
    type Error = String;

    fn try_from(dollars: f64) -> Result<Self, String> {
        const MOST: f64 = 1e9;
        if !(0.0..=MOST).contains(&dollars) {
            return Err(format!(
                "{dollars} is no amount of US dollars; give a number from 0 on, such as 0.5"
            ));
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // In range: checked right here.
        let micros = (dollars * 1e6).round() as u64;
        Ok(Self { micros })
    }
}

impl From<Dollars> for f64 {
    #[allow(clippy::cast_precision_loss)] // Far below 2^52.
    fn from(dollars: Dollars) -> Self {
        dollars.micros as Self / 1e6
    }
}

impl std::fmt::Display for Dollars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, rest) = (self.micros / 1_000_000, self.micros % 1_000_000);
        if rest.is_multiple_of(10_000) {
            write!(f, "${whole}.{:02}", rest / 10_000)
        } else {
            write!(f, "${whole}.{:04}", rest.div_ceil(100))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_and_readable() {
        let rows = [
            (0.0, 0, "$0.00"),
            (0.5, 500_000, "$0.50"),
            (12.0, 12_000_000, "$12.00"),
            (0.0123, 12_300, "$0.0123"),
            (0.000_001, 1, "$0.0001"),
        ];
        for (dollars, micros, text) in rows {
            let amount = Dollars::try_from(dollars).unwrap();
            assert_eq!((amount.micros, amount.to_string().as_str()), (micros, text));
        }
        for wrong in [-1.0, f64::NAN, f64::INFINITY, 1e12] {
            assert!(Dollars::try_from(wrong).is_err(), "{wrong}");
        }
    }
}
