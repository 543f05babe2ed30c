"""A Rust project, the sidecar in it, and a script for its model."""

import asyncio
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
async def editors(project: Path):
    """Gives what opens an editor in the project: each has a sidecar of its own, which is started and not yet initialized."""
    opened: list[Editor] = []

    async def open_one() -> Editor:
        client = make_test_lsp_client()
        await client.start_io(os.environ["OUTRIGGER_BIN"], "lsp")
        opened.append(Editor(client, project))
        return opened[-1]

    yield open_one
    for editor in opened:
        if editor.client._server.returncode is None:
            await editor.client.shutdown_session()
            assert await editor.client._server.wait() == 0
        await editor.client.stop()


@pytest.fixture
async def editor(editors) -> Editor:
    return await editors()


async def kill(editor: Editor) -> None:
    """The editor and its sidecar die, without a word to anybody."""
    if editor.messages:
        # pygls cannot end while a message waits for its answer: it is closed unanswered.
        editor.message_answers.put_nowait(None)
        await asyncio.sleep(0)
    editor.client._server.kill()
    await editor.client._server.wait()
