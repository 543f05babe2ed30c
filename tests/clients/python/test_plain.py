"""The same job by a client that knows none of our methods: commands, code actions, message requests, progress."""

import asyncio

from lsprotocol import types as lsp

from client import Editor
from conftest import LIB, kill
from test_whole_job import call


async def message(editor: Editor, text: str):
    found = lambda: next((m for m in editor.messages if text in m.message), None)
    return await editor.until(found, f"a message with {text!r}")


def ends(editor: Editor):
    return [
        report
        for reports in editor.client.progress_reports.values()
        for report in reports
        if isinstance(report, lsp.WorkDoneProgressEnd)
    ]


async def execute(editor: Editor, command: str, *arguments):
    return await editor.client.workspace_execute_command_async(lsp.ExecuteCommandParams(command, list(arguments)))


async def test_a_run_is_started_answered_by_messages_and_ends(editor: Editor, project, script):
    (project / "text.txt").write_text("von Hand\n")
    await editor.start(knows_outrigger=False)
    document = editor.open("src/lib.rs")
    model = script(
        call("c1", "ask", question="Wie groß?", choices=["zwei", "drei"]),
        call("c2", "write", "drei", path="text.txt", content="neu 漢字\n"),
        {"emit": [{"text": "Fertig."}]},
    )
    await execute(editor, "outrigger.run", {"prompt": "los", "model": model})
    asked = await message(editor, "Wie groß?")
    drei = next(action for action in asked.actions if action.title == "drei")
    editor.message_answers.put_nowait(drei)
    overwrite = await message(editor, "text.txt")
    take = next(action for action in overwrite.actions if "Take" in action.title)
    editor.message_answers.put_nowait(take)
    await editor.until(lambda: ends(editor), "the end of the progress")
    assert (project / "text.txt").read_text() == "neu 漢字\n"
    assert document.text == LIB
    assert not editor.events, "no custom notification to a client that did not offer to take them"


async def test_a_blocker_is_answered_by_a_code_action(editor: Editor, project, script):
    await editor.start(knows_outrigger=False)
    document = editor.open("src/lib.rs")
    model = script(
        call("c1", "read", path="src/lib.rs"),
        call("c2", "ask", question="Wie groß?", choices=["zwei", "drei"], path="src/lib.rs", line=3),
        call("c3", "edit", "drei", path="src/lib.rs", edits=[{"old": "    1\n", "new": "    3\n"}]),
        {"emit": [{"text": "Fertig."}]},
    )
    await execute(editor, "outrigger.run", {"prompt": "los", "model": model})
    shown = lambda: [d for d in editor.client.diagnostics.get(document.uri, []) if "Wie groß?" in d.message]
    diagnostic = (await editor.until(shown, "the question as a diagnostic"))[0]
    assert diagnostic.severity == lsp.DiagnosticSeverity.Information
    assert diagnostic.range.start.line == 2
    actions = await editor.client.text_document_code_action_async(
        lsp.CodeActionParams(
            lsp.TextDocumentIdentifier(document.uri), diagnostic.range, lsp.CodeActionContext([diagnostic])
        )
    )
    drei = next(action for action in actions if "drei" in action.title)
    command = drei.command if isinstance(drei, lsp.CodeAction) else drei
    await execute(editor, command.command, *command.arguments)
    await editor.until(lambda: ends(editor), "the end of the progress")
    assert document.text == LIB.replace("    1\n", "    3\n")
    assert document.path.read_text() == document.text
    await editor.until(lambda: not shown(), "the question to go")


async def test_a_run_is_cancelled_by_its_progress(editor: Editor, project, script):
    await editor.start(knows_outrigger=False)
    model = script({"emit": [{"text": "nie"}], "pace": {"ttft_ms": 600_000}})
    await execute(editor, "outrigger.run", {"prompt": "los", "model": model})
    begun = lambda: next((token for token, reports in editor.client.progress_reports.items() if reports), None)
    token = await editor.until(begun, "the progress")
    started = asyncio.get_running_loop().time()
    editor.client.window_work_done_progress_cancel(lsp.WorkDoneProgressCancelParams(token))
    await editor.until(lambda: ends(editor), "the end of the progress", 5)
    assert asyncio.get_running_loop().time() - started < 2


async def test_a_run_whose_editor_died_is_resumed_by_command(editors, project, script):
    first = await editors()
    await first.start(knows_outrigger=False)
    model = script(
        call("c1", "ask", question="Wie groß?", choices=["zwei", "drei"]),
        call("c2", "write", "drei", path="neu.txt", content="drei 漢字\n"),
        {"emit": [{"text": "Fertig."}]},
    )
    await execute(first, "outrigger.run", {"prompt": "los", "model": model})
    await message(first, "Wie groß?")
    await kill(first)

    second = await editors()
    await second.start(knows_outrigger=False)
    await execute(second, "outrigger.resume")
    asked = await message(second, "Wie groß?")
    second.message_answers.put_nowait(next(action for action in asked.actions if action.title == "drei"))
    # The progress that the first editor left may end as well; what counts is the work.
    written = project / "neu.txt"
    await second.until(lambda: written.exists() and written.read_text() == "drei 漢字\n", "the file")
    await second.until(lambda: ends(second), "the end of the progress")


async def test_a_run_is_cancelled_by_command(editor: Editor, project, script):
    await editor.start(knows_outrigger=False)
    model = script({"emit": [{"text": "nie"}], "pace": {"ttft_ms": 600_000}})
    await execute(editor, "outrigger.run", {"prompt": "los", "model": model})
    await editor.until(lambda: any(editor.client.progress_reports.values()), "the progress")
    await execute(editor, "outrigger.cancel")
    await editor.until(lambda: ends(editor), "the end of the progress", 5)
