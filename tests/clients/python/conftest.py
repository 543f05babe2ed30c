"""A Rust project, the sidecar in it, and a script for its model."""

import json
import os
from pathlib import Path

import pytest
from pytest_lsp import make_test_lsp_client

from client import Editor

LIB = "//! Größe.\n\npub fn fläche() -> u32 {\n    1\n}\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "maß 漢字"
    (root / "src").mkdir(parents=True)
    (root / "Cargo.toml").write_text('[package]\nname = "mass"\nversion = "0.1.0"\nedition = "2021"\n')
    (root / "src/lib.rs").write_bytes(LIB.encode())
    (tmp_path / "state").mkdir()
    monkeypatch.setenv("OUTRIGGER_STATE_DIR", str(tmp_path / "state"))
    return root


@pytest.fixture
def script(tmp_path: Path):
    """Writes a script of turns; gives the model's name."""

    def write(*turns: dict) -> str:
        path = tmp_path / "turns.script.jsonl"
        lines = [{"script": 1, "name": "python"}, *turns]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return f"scripted:{path}"

    return write


@pytest.fixture
async def editor(project: Path):
    """An editor whose sidecar is started and not yet initialized."""
    client = make_test_lsp_client()
    await client.start_io(os.environ["OUTRIGGER_BIN"], "lsp")
    editor = Editor(client, project)
    yield editor
    await client.shutdown_session()
    assert await client._server.wait() == 0
    await client.stop()
