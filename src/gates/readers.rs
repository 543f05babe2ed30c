//! One reader per report format: pure functions from what a tool printed to findings.
//!
//! A reader asks [`Reading`](super::reading::Reading) for files and places and answers with
//! [`Parsed`](super::reading::Parsed); it decides nothing about the outcome. None panics, whatever it is given.

pub mod biome;
pub mod cargo;
pub mod checkstyle;
pub mod clang;
pub mod eslint;
pub mod gcc;
pub mod generic;
pub mod go;
pub mod jest;
pub mod js_stack;
pub mod json;
pub mod junit;
pub mod libtest;
pub mod lines;
pub mod mypy;
pub mod native_columns;
pub mod notebook;
pub mod oxlint;
pub mod panic;
pub mod pattern;
pub mod plain_linters;
pub mod prettier;
pub mod pylint;
pub mod pyright;
pub mod pytest;
pub mod rdjson;
pub mod ruff;
pub mod rustc_text;
pub mod rustfmt;
pub mod sarif;
pub mod shell;
pub mod tap;
pub mod traceback;
pub mod tsc;
