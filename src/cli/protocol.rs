//! `outrigger protocol`: the contract with the editors, as JSON Schema, TypeScript or Lua.
//!
//! All are made from the Rust types that this very binary serves with, so they cannot be out of date.

mod contract;
mod lua;
mod typescript;

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use super::output;
use contract::Contract;

/// Print the contract with the editors, generated from the types that are compiled in.
///
/// Examples:
///   outrigger protocol --typescript > src/protocol.ts
///   outrigger protocol --lua > lua/outrigger/wire.lua
///   outrigger protocol --json-schema | jq '."x-methods" | keys'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
#[group(required = true, multiple = false)]
pub struct Arguments {
    /// JSON Schema (2020-12): a definition for each type, and under `x-methods` the types of each method.
    #[arg(long)]
    json_schema: bool,
    /// TypeScript declarations: a type for each definition, and maps from method to types.
    #[arg(long)]
    typescript: bool,
    /// Lua annotations (LuaCATS), for plugins of Neovim: a class or alias for each definition.
    #[arg(long)]
    lua: bool,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let contract = Contract::of_this_build();
    let text = if arguments.typescript {
        typescript::generate(&contract).context("failed to generate the TypeScript types")?
    } else if arguments.lua {
        lua::generate(&contract).context("failed to generate the Lua types")?
    } else {
        let mut text = serde_json::to_string_pretty(&contract.json_schema())
            .context("failed to write the schema")?;
        text.push('\n');
        text
    };
    output::say(&text).context("failed to write to standard output")?;
    Ok(ExitCode::SUCCESS)
}
