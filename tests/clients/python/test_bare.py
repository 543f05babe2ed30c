"""What is left when an editor shows no message and no diagnostic: commands, code actions, and files that are saved."""

import asyncio
import json
import os
import subprocess
from pathlib import Path

from lsprotocol import types as lsp

from client import Editor
from conftest import LIB
from test_plain import ends, execute
from test_whole_job import call


def configure(editor: Editor, model: str) -> None:
    editor.client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams({"model": model}))


async def actions(editor: Editor, uri: str, place: lsp.Range, *diagnostics: lsp.Diagnostic):
    context = lsp.CodeActionContext(list(diagnostics))
    params = lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), place, context)
    return await editor.client.text_document_code_action_async(params)


def place(first: int, last: int) -> lsp.Range:
    return lsp.Range(lsp.Position(first, 0), lsp.Position(last, 0))


async def outrigger(project: Path, *arguments: str) -> str:
    """The command line, beside the editor."""
    command = [os.environ["OUTRIGGER_BIN"], *arguments, "--root", str(project)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
    return done.stdout


def write_above(file: Path, words: str) -> None:
    """What any editor does: the whole file is written again."""
    file.write_text(words + file.read_text())


async def test_the_file_that_the_command_line_names_takes_the_answer(editor: Editor, project, script):
    await editor.start(knows_outrigger=False)
    configure(
        editor,
        script(
            call("c1", "ask", question="Wie groß?\nIn Metern.", choices=["zwei", "zwei", ""]),
            call("c2", "write", "vier, höchstens", path="groß.txt", content="4\n"),
            call("c3", "ask", question="Und wie schnell?", choices=["langsam", "rasch"]),
            {"emit": [{"text": "Fertig."}], "expect": {"last": {"contains": "rasch"}}},
        ),
    )
    await execute(editor, "outrigger.run", "mach", "es", "größer")
    for title, words in [("Wie groß?", "vier, höchstens"), ("Und wie schnell?", "rasch")]:
        for _ in range(600):
            listed = json.loads(await outrigger(project, "questions", "--json"))
            if listed and listed[0]["title"] == title and Path(listed[0]["answerFile"]).exists():
                break
        assert [question["title"] for question in listed] == [title]
        file = Path(listed[0]["answerFile"])
        assert str(file) in await outrigger(project, "questions")
        write_above(file, words)
        await editor.until(lambda: not file.exists(), "the answer to be taken")
    await editor.until(lambda: ends(editor), "the end of the progress")
    assert (project / "groß.txt").read_text() == "4\n"
    assert "no question is open" in await outrigger(project, "questions")


async def test_a_selection_becomes_a_run_which_is_taken_back(editor: Editor, project, script):
    await editor.start(knows_outrigger=False)
    document = editor.open("src/lib.rs")
    configure(
        editor,
        script(
            call("c1", "read", path="src/lib.rs"),
            call("c2", "edit", path="src/lib.rs", edits=[{"old": "    1\n", "new": "    3\n"}]),
            {"emit": [{"text": "Fertig."}]},
        ),
    )
    offered = await actions(editor, document.uri, place(2, 5))
    change = next(action for action in offered if "change this" in action.title)
    name = change.command if isinstance(change, lsp.Command) else change.command.command
    arguments = change.arguments if isinstance(change, lsp.Command) else change.command.arguments
    written = await execute(editor, name, *arguments)
    file = Path(written["path"] if isinstance(written, dict) else written.path)
    assert "pub fn fläche" in file.read_text()
    write_above(file, "gib drei zurück\n")
    await editor.until(lambda: ends(editor), "the end of the progress")
    assert document.text == LIB.replace("    1\n", "    3\n")
    assert document.path.read_text() == document.text
    await execute(editor, "outrigger.revert")
    assert document.text == LIB
    await editor.until(lambda: document.path.read_text() == LIB, "the file as it was")


async def test_any_problem_becomes_a_run(editor: Editor, project, script):
    await editor.start(knows_outrigger=False)
    document = editor.open("src/lib.rs")
    configure(editor, script({"emit": [{"text": "Nichts zu tun, denn es stimmt."}]}))
    problem = lsp.Diagnostic(place(3, 4), "zu klein", source="lineal")
    offered = await actions(editor, document.uri, place(3, 3), problem)
    fix = next(action for action in offered if "Fix with Outrigger" in action.title)
    name = fix.command if isinstance(fix, lsp.Command) else fix.command.command
    arguments = fix.arguments if isinstance(fix, lsp.Command) else fix.command.arguments
    assert "zu klein" in json.dumps(arguments[0], default=vars, ensure_ascii=False)
    await execute(editor, name, *arguments)
    await editor.until(lambda: ends(editor), "the end of the progress")


async def test_a_free_answer_is_written_in_a_document_that_a_code_action_opens(editor: Editor, project, script):
    await editor.start(knows_outrigger=False)
    document = editor.open("src/lib.rs")
    configure(
        editor,
        script(
            call("c1", "read", path="src/lib.rs"),
            call("c2", "ask", question="Wie groß?", choices=["zwei"], path="src/lib.rs", line=3),
            call("c3", "write", "ungefähr π\nnicht mehr", path="groß.txt", content="3.14\n"),
            {"emit": [{"text": "Fertig."}]},
        ),
    )
    await execute(editor, "outrigger.run", "los")
    shown = lambda: [d for d in editor.client.diagnostics.get(document.uri, []) if "Wie groß?" in d.message]
    asked = (await editor.until(shown, "the question as a diagnostic"))[0]
    offered = await actions(editor, document.uri, asked.range, asked)
    free = next(action for action in offered if "own words" in action.title)
    command = free if isinstance(free, lsp.Command) else free.command
    written = await execute(editor, command.command, *command.arguments)
    file = Path(written["path"] if isinstance(written, dict) else written.path)
    assert "Wie groß?" in file.read_text()
    write_above(file, "ungefähr π\nnicht mehr\n")
    await editor.until(lambda: ends(editor), "the end of the progress")
    assert (project / "groß.txt").read_text() == "3.14\n"
    assert not file.exists()
