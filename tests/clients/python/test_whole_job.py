"""The whole job by the custom protocol: run, findings, conflict, blocker, replay, cancel."""

import asyncio

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from client import Editor
from conftest import LIB, kill


def call(call_id: str, tool: str, expect: str | None = None, **args) -> dict:
    turn = {"emit": [{"tool": tool, "id": call_id, "args": args}]}
    if expect:
        turn["expect"] = {"last": {"contains": expect}}
    return turn


async def question(editor: Editor):
    return await asyncio.wait_for(editor.questions.get(), 60)


async def test_a_run_from_start_to_end(editor: Editor, project, script):
    result = await editor.start()
    offered = result.capabilities.experimental["outrigger"]
    assert offered["version"] == 1
    assert result.capabilities.position_encoding == lsp.PositionEncodingKind.Utf8
    mine = "// meins 😀\n" + LIB
    document = editor.open("src/lib.rs", unsaved=mine)

    model = script(
        call("c1", "read", path="src/lib.rs"),
        call("c2", "edit", "meins 😀", path="src/lib.rs", edits=[{"old": "    1\n", "new": '    "漢字"\n'}]),
        call("c3", "ask", "E0308", question="Wie groß?", choices=["zwei", "drei"], path="src/lib.rs", line=4),
        call("c4", "edit", "drei", path="src/lib.rs", edits=[{"old": '    "漢字"\n', "new": "    3\n"}]),
        call("c5", "write", path="Notizen.txt", content="nein"),
        {"emit": [{"text": "Fertig."}], "expect": {"last": {"contains": "weil ich es sage"}}},
    )
    (project / "Notizen.txt").write_text("von Hand")
    started = await editor.request("outrigger/run/start", prompt="Mach es größer", model=model)

    blocker = await question(editor)
    assert (blocker.run, blocker.kind.kind, blocker.kind.reason) == (started.runId, "blocker", "asked"), blocker.detail
    assert [choice.label for choice in blocker.choices][:2] == ["zwei", "drei"]
    errors = lambda: [
        d for d in editor.client.diagnostics.get(document.uri, []) if d.severity == lsp.DiagnosticSeverity.Error
    ]
    finding = (await editor.until(errors, "the finding"))[0]
    # Columns in bytes, as negotiated: two characters of three bytes each between the quotes.
    assert (finding.range.start.line, finding.range.start.character, finding.range.end.character) == (4, 4, 12)
    assert (finding.source, finding.code) == ("cargo", "E0308")
    await editor.request("outrigger/question/answer", questionId=blocker.id, answer={"type": "choice", "choice": "2"})
    assert (await editor.resolved.get()).questionId == blocker.id

    overwrite = await question(editor)
    assert (overwrite.kind.kind, overwrite.kind.path, overwrite.kind.reason) == ("overwrite", "Notizen.txt", "exists")
    sides = {}
    for side in ("base", "current", "proposed"):
        uri = f"outrigger:/question/{overwrite.id}/{side}"
        sides[side] = (await editor.request("outrigger/document/read", uri=uri)).text
    assert sides["proposed"] == "nein"
    assert sides["current"] == (project / "Notizen.txt").read_text()
    keep = {"type": "keepMine", "reason": "weil ich es sage"}
    await editor.request("outrigger/question/answer", questionId=overwrite.id, answer=keep, by="Ada")
    resolved = await editor.resolved.get()
    assert (resolved.state.state, resolved.state.by) == ("answered", "Ada")
    with pytest.raises(JsonRpcException) as refused:
        await editor.request("outrigger/question/answer", questionId=overwrite.id, answer={"type": "takeAll"})
    assert "Ada" in refused.value.message

    end = await editor.ended()
    assert (end.outcome, end.summary.verification) == ("succeeded", "passed")
    assert document.text == mine.replace("    1\n", "    3\n")
    assert document.path.read_text() == document.text
    assert (project / "Notizen.txt").read_text() == sides["current"]
    await editor.until(lambda: not editor.client.diagnostics[document.uri], "no finding to be left")

    # The events are gapless, and the replay says the same.
    assert [record.seq for record in editor.events] == list(range(1, len(editor.events) + 1))
    replay, after = [], 0
    while True:
        page = await editor.request("outrigger/run/events", runId=started.runId, afterSeq=after, limit=7)
        replay += page.records
        if not page.more:
            break
        after = page.records[-1].seq
    assert [(r.seq, r.event.type) for r in replay] == [(r.seq, r.event.type) for r in editor.events]
    view = (await editor.request("outrigger/run/list")).runs[0]
    assert (view.runId, view.status, view.end.outcome) == (started.runId, "succeeded", "succeeded")
    progress = editor.client.progress_reports[f"outrigger/run/{started.runId}"]
    await editor.until(lambda: isinstance(progress[-1], lsp.WorkDoneProgressEnd), "the end of the progress")
    assert [type(p) for p in progress].count(lsp.WorkDoneProgressBegin) == 1


async def test_a_conflict_is_answered_by_hunks(editor: Editor, project, script):
    text = "eins\nzwei\ndrei\nvier\nfünf\nsechs\n"
    (project / "text.txt").write_text(text)
    await editor.start()
    document = editor.open("text.txt", unsaved=text + "getippt 漢字\n")
    content = text.replace("eins", "EINS").replace("vier", "VIER")
    model = script(call("c1", "write", path="text.txt", content=content), {"emit": [{"text": "Fertig."}]})
    await editor.request("outrigger/run/start", prompt="los", model=model)
    asked = await question(editor)
    assert asked.kind.unsaved
    assert (project / "text.txt").read_text() == text
    taken = [hunk.id for hunk in asked.kind.hunks if list(hunk.added) == ["VIER\n"]]
    await editor.request("outrigger/question/answer", questionId=asked.id, answer={"type": "takeHunks", "hunks": taken})
    assert (await editor.ended()).outcome == "succeeded"
    assert document.text == text.replace("vier", "VIER") + "getippt 漢字\n"
    assert document.path.read_text() == document.text


async def test_a_run_is_cancelled(editor: Editor, project, script):
    await editor.start()
    model = script({"emit": [{"text": "nie"}], "pace": {"ttft_ms": 600_000}})
    run = await editor.request("outrigger/run/start", prompt="los", model=model)
    await editor.until(lambda: any(r.event.type == "modelCalled" for r in editor.events), "the call of the model")
    cancelled = await asyncio.wait_for(editor.request("outrigger/run/cancel", runId=run.runId), 2)
    assert cancelled.outcome == "cancelled"
    again = await editor.request("outrigger/run/cancel", runId=run.runId)
    assert again.outcome == "cancelled"
    with pytest.raises(JsonRpcException) as unknown:
        await editor.request("outrigger/run/cancel", runId="gibt es nicht")
    assert unknown.value.data["kind"] == "unknownRun"


async def test_a_run_whose_editor_died_is_resumed_by_the_next_and_taken_back(editors, project, script):
    first = await editors()
    await first.start()
    first.open("src/lib.rs")
    model = script(
        call("c1", "read", path="src/lib.rs"),
        call("c2", "edit", path="src/lib.rs", edits=[{"old": "    1\n", "new": "    2\n"}]),
        call("c3", "ask", "was changed", question="Wie groß?", choices=["zwei", "drei"]),
        call("c4", "edit", "drei", path="src/lib.rs", edits=[{"old": "    2\n", "new": "    3\n"}]),
        {"emit": [{"text": "Fertig."}]},
    )
    started = await first.request("outrigger/run/start", prompt="los", model=model)
    asked = await question(first)
    await kill(first)

    second = await editors()
    await second.start()
    document = second.open("src/lib.rs")
    assert document.text == LIB.replace("    1\n", "    2\n")
    left = await asyncio.wait_for(second.interrupted.get(), 30)
    assert (left.runId, left.status) == (started.runId, "interrupted")
    await second.request("outrigger/run/resume", runId=left.runId)
    assert (await question(second)).id == asked.id
    await second.request("outrigger/question/answer", questionId=asked.id, answer={"type": "choice", "choice": "2"})
    assert (await second.ended()).outcome == "succeeded"
    assert document.text == LIB.replace("    1\n", "    3\n")
    # All records, those of the first editor too, without a gap.
    replay = (await second.request("outrigger/run/events", runId=left.runId, afterSeq=0)).records
    assert [record.seq for record in replay] == list(range(1, len(replay) + 1))

    preview = await second.request("outrigger/run/revert", runId=left.runId, preview=True)
    assert [(file.path, file.outcome) for file in preview.files] == [("src/lib.rs", "restored")]
    assert document.text != LIB
    await second.request("outrigger/run/revert", runId=left.runId)
    assert document.text == LIB
    await second.until(lambda: document.path.read_text() == LIB, "the file as it was")
