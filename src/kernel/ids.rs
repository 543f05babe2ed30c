//! Identifiers: one new type each, so that a run is never taken for a question.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// One attempt at a task. Made outside the kernel (it needs time and randomness); sorts by start time.
    RunId
);
text_id!(
    /// What the user wants done: `t1`, `t2`, … in the order of a workspace.
    TaskId
);
text_id!(
    /// A question, unique over all runs: `<run>.q<n>`.
    QuestionId
);
text_id!(
    /// A tool call as the model named it.
    ToolCallId
);
text_id!(
    /// A gate, such as `cargo-check` or `ruff`.
    GateId
);

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

number_id!(
    /// One call of the model inside a run, counted from 1; a retry is a new call.
    ModelCallId
);
number_id!(
    /// One file change inside a run, counted from 1: an entry of the ledger.
    ChangeId
);
number_id!(
    /// One round of gates inside a run, counted from 1.
    GateRoundId
);
number_id!(
    /// A timer inside a run, counted from 1.
    TimerId
);

/// A client's request that waits for its reply. Known to the app only; the kernel hands it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);
