"""A whole client of Outrigger: what someone writes who has only editors/PROTOCOL.md.

Keeps documents as an editor does, takes the sidecar's edits and saves, and collects what it is told.
"""

import asyncio
import os
from pathlib import Path
from urllib.parse import unquote, urlparse

from lsprotocol import types as lsp
from pytest_lsp import LanguageClient

OFFER = {"version": 1, "events": True, "questions": True, "save": True}


class Document:
    """A document that is open in the editor."""

    def __init__(self, uri: str, text: str):
        self.uri, self.version, self.text = uri, 1, text

    @property
    def path(self) -> Path:
        return Path(unquote(urlparse(self.uri).path))

    def offset(self, position: lsp.Position) -> int:
        """Columns count UTF-8 bytes, as was negotiated; the text is kept as characters."""
        lines = self.text.splitlines(keepends=True) + [""]
        if position.line >= len(lines):
            return len(self.text)
        before = sum(len(line) for line in lines[: position.line])
        encoded = lines[position.line].rstrip("\r\n").encode()
        return before + len(encoded[: position.character].decode())

    def apply(self, edits: list[lsp.TextEdit]) -> None:
        places = [(self.offset(e.range.start), self.offset(e.range.end), e.new_text) for e in edits]
        for start, end, new_text in sorted(places, key=lambda place: place[:2], reverse=True):
            self.text = self.text[:start] + new_text + self.text[end:]
        self.version += 1


class Editor:
    """An editor of one workspace folder."""

    def __init__(self, client: LanguageClient, root: Path):
        self.client, self.root = client, root
        self.documents: dict[str, Document] = {}
        self.events, self.questions, self.resolved = [], asyncio.Queue(), asyncio.Queue()
        self.interrupted: asyncio.Queue = asyncio.Queue()
        self.messages: list[lsp.ShowMessageRequestParams] = []
        self.message_answers: asyncio.Queue[lsp.MessageActionItem | None] = asyncio.Queue()
        client.feature("outrigger/run/event")(lambda p: self.events.append(p.record))
        client.feature("outrigger/run/interrupted")(lambda p: self.interrupted.put_nowait(p.run))
        client.feature("outrigger/question/opened")(lambda p: self.questions.put_nowait(p.question))
        client.feature("outrigger/question/resolved")(lambda p: self.resolved.put_nowait(p))
        client.feature("outrigger/document/save")(lambda p: self.on_save(p))
        client.feature(lsp.WORKSPACE_APPLY_EDIT)(lambda p: self.on_apply_edit(p))

        @client.feature(lsp.WINDOW_SHOW_MESSAGE_REQUEST)
        async def _(params: lsp.ShowMessageRequestParams) -> lsp.MessageActionItem | None:
            self.messages.append(params)
            return await self.message_answers.get()

    async def start(self, *, knows_outrigger: bool = True) -> lsp.InitializeResult:
        capabilities = lsp.ClientCapabilities(
            general=lsp.GeneralClientCapabilities(position_encodings=[lsp.PositionEncodingKind.Utf8]),
            window=lsp.WindowClientCapabilities(
                work_done_progress=True, show_message=lsp.ShowMessageRequestClientCapabilities()
            ),
            workspace=lsp.WorkspaceClientCapabilities(
                apply_edit=True, workspace_edit=lsp.WorkspaceEditClientCapabilities(document_changes=True)
            ),
            experimental={"outrigger": OFFER} if knows_outrigger else None,
        )
        return await self.client.initialize_session(
            lsp.InitializeParams(
                capabilities=capabilities,
                client_info=lsp.ClientInfo(name="a client in Python"),
                process_id=os.getpid(),
                root_uri=self.root.as_uri(),
            )
        )

    def request(self, method: str, **params):
        return self.client.protocol.send_request_async(method, params)

    def open(self, path: str, unsaved: str | None = None) -> Document:
        document = Document((self.root / path).as_uri(), (self.root / path).read_bytes().decode())
        self.documents[document.uri] = document
        item = lsp.TextDocumentItem(document.uri, "plaintext", document.version, document.text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        if unsaved is not None:
            document.text, document.version = unsaved, document.version + 1
            self.tell_change(document)
        return document

    def tell_change(self, document: Document) -> None:
        identifier = lsp.VersionedTextDocumentIdentifier(document.version, document.uri)
        whole = lsp.TextDocumentContentChangeWholeDocument(document.text)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(identifier, [whole]))

    def on_apply_edit(self, params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult:
        changes = params.edit.document_changes
        for change in changes:
            document = self.documents.get(change.text_document.uri)
            if document is None or document.version != change.text_document.version:
                return lsp.ApplyWorkspaceEditResult(applied=False, failure_reason="not that version")
        for change in changes:
            self.documents[change.text_document.uri].apply(change.edits)
            self.tell_change(self.documents[change.text_document.uri])
        return lsp.ApplyWorkspaceEditResult(applied=True)

    def on_save(self, params) -> dict:
        document = self.documents.get(params.uri)
        if document is None:
            return {"saved": False, "error": "it is not open"}
        document.path.write_bytes(document.text.encode())
        self.client.text_document_did_save(
            lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(document.uri))
        )
        return {"saved": True}

    async def until(self, fact, what: str, timeout_s: float = 60):
        """Waits until `fact()` gives something true."""
        deadline = asyncio.get_running_loop().time() + timeout_s
        while not (value := fact()):
            assert asyncio.get_running_loop().time() < deadline, f"waited in vain for {what}"
            await asyncio.sleep(0.01)
        return value

    async def ended(self):
        fact = lambda: next((r.event for r in self.events if r.event.type == "ended"), None)
        return await self.until(fact, "the end of the run")
