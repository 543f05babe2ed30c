//! The contract with the editors: custom methods under `outrigger/`, their parameters, results and errors.
//!
//! Types only, no logic. `editors/PROTOCOL.md` documents each with an example; JSON Schema and TypeScript are generated from
//! here. Every method takes an object; fields that may be left out have defaults. Names are camelCase.

pub mod capabilities;
pub mod change;
pub mod document;
pub mod editor;
pub mod error;
pub mod models;
pub mod question;
pub mod run;
pub mod settings;
pub mod task;
pub mod trust;

/// Version of this contract: raised when something that clients rely on changes.
pub const VERSION: u32 = 1;

/// Names of the methods.
pub mod method {
    // Requests of the client.
    pub const RUN_START: &str = "outrigger/run/start";
    pub const RUN_CANCEL: &str = "outrigger/run/cancel";
    pub const RUN_STEER: &str = "outrigger/run/steer";
    pub const RUN_RESUME: &str = "outrigger/run/resume";
    pub const RUN_CHANGES: &str = "outrigger/run/changes";
    pub const RUN_DIFF: &str = "outrigger/run/diff";
    pub const RUN_REVERT: &str = "outrigger/run/revert";
    pub const RUN_LIST: &str = "outrigger/run/list";
    pub const RUN_EVENTS: &str = "outrigger/run/events";
    pub const TASK_CLEAN: &str = "outrigger/task/clean";
    pub const TASK_LIST: &str = "outrigger/task/list";
    pub const TASK_ADD: &str = "outrigger/task/add";
    pub const TASK_IMPORT: &str = "outrigger/task/import";
    pub const TASK_EDIT: &str = "outrigger/task/edit";
    pub const TASK_READY: &str = "outrigger/task/ready";
    pub const TASK_START: &str = "outrigger/task/start";
    pub const QUESTION_LIST: &str = "outrigger/question/list";
    pub const QUESTION_ANSWER: &str = "outrigger/question/answer";
    pub const DOCUMENT_READ: &str = "outrigger/document/read";
    pub const EDITOR_VIEW: &str = "outrigger/editor/view";
    pub const MODELS_LIST: &str = "outrigger/models/list";
    pub const MODELS_KEY: &str = "outrigger/models/key";
    pub const SETTINGS_LIST: &str = "outrigger/settings/list";
    pub const TRUST: &str = "outrigger/trust";
    // Notifications of the server, to clients that offered to take them.
    pub const RUN_EVENT: &str = "outrigger/run/event";
    pub const RUN_INTERRUPTED: &str = "outrigger/run/interrupted";
    pub const QUESTION_OPENED: &str = "outrigger/question/opened";
    pub const QUESTION_RESOLVED: &str = "outrigger/question/resolved";
    // Requests of the server, to clients that offered to take them.
    pub const DOCUMENT_SAVE: &str = "outrigger/document/save";
}
