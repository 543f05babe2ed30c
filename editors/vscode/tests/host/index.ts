// The extension in a real extension host, with the real program and a scripted model.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import type { OutriggerApi } from '../../src/extension';
import type { Question, RunId } from '../../src/protocol';
import type { RunState } from '../../src/sidecarState';

/** Far beyond what anything here takes; reached only when something hangs. */
const PATIENCE_MS = 20_000;

type Test = [name: string, run: () => Promise<void>];
const tests: Test[] = [];
const test = (name: string, run: () => Promise<void>) => tests.push([name, run]);

let api: OutriggerApi;
const scripts = mkdtempSync(join(tmpdir(), 'or-scripts-'));

function workspace(): vscode.WorkspaceFolder {
    const folder = vscode.workspace.workspaceFolders?.[0];
    assert.ok(folder, 'a folder is open');
    return folder;
}
const file = (name: string) => vscode.Uri.joinPath(workspace().uri, name);
const onDisk = (name: string) => readFileSync(file(name).fsPath, 'utf8');

function put(name: string, text: string): vscode.Uri {
    writeFileSync(file(name).fsPath, text);
    return file(name);
}

/** Waits for what a test is about, by the events that may bring it about. */
async function until<T>(what: string, look: () => T | undefined | false): Promise<T> {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
        const found = look();
        if (found !== undefined && found !== false) {
            return found;
        }
        if (Date.now() > deadline) {
            throw new Error(`waited in vain for ${what}`);
        }
        await new Promise((resolve) => setTimeout(resolve, 15));
    }
}

const tool = (id: string, name: string, args: object) => ({ emit: [{ tool: name, id, args }] });
const done = (text: string) => ({ emit: [{ text }], stop: 'end' });
const shown = (text: string, turn: object) => ({ ...turn, expect: { last: { contains: [text] } } });

let scriptCount = 0;
async function start(...turns: object[]): Promise<RunId> {
    scriptCount += 1;
    const path = join(scripts, `${scriptCount}.script.jsonl`);
    const lines = [{ script: 1, name: `test${scriptCount}` }, ...turns];
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const id: unknown = await vscode.commands.executeCommand('outrigger.run', {
        prompt: `do job ${scriptCount}`,
        model: `scripted:${path}`,
    });
    assert.ok(typeof id === 'string', 'the run has an id');
    return id;
}

const runOf = (id: RunId) => api.sidecars.state.runs.get(id);
const ended = (id: RunId): Promise<RunState> =>
    until(`the end of ${id}: ${runOf(id)?.timeline.at(-1)?.text ?? ''}`, () => runOf(id)?.end && runOf(id));
const asked = (id: RunId): Promise<Question> =>
    until('a question', () => api.sidecars.state.openQuestions().find((question) => question.run === id));
const resolution = (question: Question) => api.sidecars.state.questions.get(question.id)?.state;

function diffTab(): { tab: vscode.Tab; input: vscode.TabInputTextDiff } | undefined {
    for (const tab of vscode.window.tabGroups.all.flatMap((group) => group.tabs)) {
        if (tab.input instanceof vscode.TabInputTextDiff && tab.input.modified.scheme === 'outrigger-proposal') {
            return { tab, input: tab.input };
        }
    }
    return undefined;
}
const textOf = (uri: vscode.Uri) =>
    vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString())?.getText();

async function closeAll(): Promise<void> {
    await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
}

/** Answers the next input box; the tests' `vscode` is the extension's own. */
async function typing<T>(text: string | undefined, act: () => Thenable<T>): Promise<T> {
    const original = vscode.window.showInputBox;
    const window = vscode.window as { showInputBox: unknown };
    window.showInputBox = () => Promise.resolve(text);
    try {
        return await act();
    } finally {
        window.showInputBox = original;
    }
}

const LINES = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];
const mine = `${LINES.join('\n')}\n`;
const theirs = mine.replace('two', 'ZWEI é').replace('eight', '八');

async function overwrite(name: string, then: object): Promise<{ id: RunId; question: Question }> {
    const id = await start(tool('c1', 'write', { path: name, content: theirs }), then);
    return { id, question: await asked(id) };
}

test('it activates in little time of its own and finds the program', async () => {
    const extension = vscode.extensions.getExtension<OutriggerApi>('outrigger.outrigger');
    assert.ok(extension);
    api = await extension.activate();
    console.log(`# VS Code ${vscode.version}, activation ${api.activationMs.toFixed(1)} ms`);
    assert.ok(api.activationMs < 100);
    await until('the sidecar', () => api.sidecars.phase === 'running');
    assert.equal(api.attention.bar.text, '$(rocket) Outrigger');
});

test('a run edits what is open: unsaved text stays, one undo step, saved', async () => {
    const uri = put('open.txt', 'alpha\nbeta\n');
    const editor = await vscode.window.showTextDocument(uri);
    await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), 'unsaved é\n'));
    assert.ok(editor.document.isDirty);
    const id = await start(
        tool('c1', 'read', { path: 'open.txt' }),
        shown('unsaved é', tool('c2', 'edit', { path: 'open.txt', edits: [{ old: 'beta', new: 'BETA' }] })),
        done('Edited.'),
    );
    const { end, changes } = await ended(id);
    assert.equal(end?.outcome, 'succeeded');
    assert.equal(editor.document.getText(), 'unsaved é\nalpha\nBETA\n');
    assert.equal(onDisk('open.txt'), 'unsaved é\nalpha\nBETA\n');
    assert.equal(editor.document.isDirty, false);
    assert.deepEqual([...changes.values()], [{ path: 'open.txt', added: 1, removed: 1 }]);
    await vscode.window.showTextDocument(editor.document);
    await vscode.commands.executeCommand('undo');
    assert.equal(editor.document.getText(), 'unsaved é\nalpha\nbeta\n');
    await closeAll();
});

test('how a run ended is said once', async () => {
    const said: string[] = [];
    const original = vscode.window.showInformationMessage;
    const window = vscode.window as { showInformationMessage: unknown };
    window.showInformationMessage = (text: string) => {
        said.push(text);
        return Promise.resolve(undefined);
    };
    try {
        await ended(await start(done('All is well.')));
        await until('the message', () => said.length > 0);
    } finally {
        window.showInformationMessage = original;
    }
    assert.deepEqual(said, ['do job 2: succeeded. All is well.']);
});

test('saving on request does not format', async () => {
    await vscode.workspace
        .getConfiguration('files')
        .update('trimTrailingWhitespace', true, vscode.ConfigurationTarget.Workspace);
    const uri = put('spaces.txt', 'a  \nb\n');
    await vscode.window.showTextDocument(uri);
    const id = await start(
        tool('c1', 'read', { path: 'spaces.txt' }),
        tool('c2', 'edit', { path: 'spaces.txt', edits: [{ old: 'b', new: 'B' }] }),
        done('Edited.'),
    );
    await ended(id);
    assert.equal(onDisk('spaces.txt'), 'a  \nB\n');
    await vscode.workspace
        .getConfiguration('files')
        .update('trimTrailingWhitespace', undefined, vscode.ConfigurationTarget.Workspace);
    await closeAll();
});

test('an overwrite is a diff: left what is there, unsaved text too, right the proposal', async () => {
    const uri = put('over.txt', 'old\n');
    const editor = await vscode.window.showTextDocument(uri);
    await editor.edit((edit) => edit.replace(new vscode.Range(0, 0, 1, 0), mine));
    const { id, question } = await overwrite('over.txt', shown('1 of your 2 changes', done('Half of it.')));
    await vscode.commands.executeCommand('outrigger.review', { questionId: question.id });
    const { input } = await until('the diff', diffTab);
    assert.equal(await until('the left side', () => textOf(input.original)), mine);
    assert.equal(await until('the right side', () => textOf(input.modified)), theirs);
    assert.ok(input.modified.path.endsWith('/over.txt'));

    // The second of the two changes is left out.
    await vscode.commands.executeCommand('outrigger.mineHere', 7);
    await until('the change', () => textOf(input.modified) === mine.replace('two', 'ZWEI é'));
    await vscode.commands.executeCommand('outrigger.mineHere', 1);
    await until('no change', () => textOf(input.modified) === mine);
    await vscode.commands.executeCommand('outrigger.theirsHere', 1);
    await until('the change again', () => textOf(input.modified) === mine.replace('two', 'ZWEI é'));
    await vscode.commands.executeCommand('outrigger.accept');
    const state = await until('the answer', () => resolution(question)?.state === 'answered' && resolution(question));
    assert.deepEqual(state.state === 'answered' && state.answer, { type: 'takeHunks', hunks: [0] });
    await until('the tab to go', () => diffTab() === undefined);
    await ended(id);
    assert.equal(editor.document.getText(), mine.replace('two', 'ZWEI é'));
    assert.equal(onDisk('over.txt'), mine.replace('two', 'ZWEI é'));
    await vscode.window.showTextDocument(editor.document);
    await vscode.commands.executeCommand('undo');
    assert.equal(editor.document.getText(), mine);
    await closeAll();
});

test('a proposal is edited before it is accepted', async () => {
    put('edited.txt', mine);
    const { id, question } = await overwrite('edited.txt', done('Taken.'));
    await vscode.commands.executeCommand('outrigger.review', { questionId: question.id });
    const { input } = await until('the diff', diffTab);
    await until('the right side', () => textOf(input.modified));
    const edit = new vscode.WorkspaceEdit();
    edit.insert(input.modified, new vscode.Position(0, 0), 'mine first 漢\n');
    await vscode.workspace.applyEdit(edit);
    await vscode.commands.executeCommand('outrigger.accept', { questionId: question.id });
    await ended(id);
    assert.equal(onDisk('edited.txt'), `mine first 漢\n${theirs}`);
    await until('the tab to go', () => diffTab() === undefined);
});

test('closing the diff is not an answer; keeping mine has a reason', async () => {
    put('keep.txt', mine);
    const { id, question } = await overwrite('keep.txt', shown('I am at it', done('Left alone.')));
    await vscode.commands.executeCommand('outrigger.review', { questionId: question.id });
    const { tab } = await until('the diff', diffTab);
    await vscode.window.tabGroups.close(tab);
    await until('the tab to go', () => diffTab() === undefined);
    assert.equal(resolution(question)?.state, 'open');
    // Escape in the field for the reason answers nothing either.
    await typing(undefined, () => vscode.commands.executeCommand('outrigger.keepMine', { questionId: question.id }));
    assert.equal(resolution(question)?.state, 'open');
    await vscode.commands.executeCommand('outrigger.nextQuestion');
    await until('the diff again', diffTab);
    await typing('I am at it', () => vscode.commands.executeCommand('outrigger.keepMine'));
    await ended(id);
    assert.equal(onDisk('keep.txt'), mine);
    await until('the tab to go', () => diffTab() === undefined);
});

test('a command is asked about by a notification, which goes with its answer', async () => {
    const id = await start(tool('c1', 'command', { command: 'echo "[x](command:y)"' }), done('Nothing.'));
    const question = await asked(id);
    assert.equal(question.kind.kind, 'command');
    await until('the notification of a question without a place', () => api.attention.notified.includes(question.id));
    await vscode.commands.executeCommand('outrigger.answer', question.id, 'reject');
    await until('the notification to go', () => !api.attention.notified.includes(question.id));
    await ended(id);
});

test('a blocker is a thread and a diagnostic where it is in doubt; answered anywhere it is gone everywhere', async () => {
    const uri = put('port.txt', 'first\nport = ?\n');
    await vscode.window.showTextDocument(uri);
    const ask = { question: 'Which port?', choices: ['80', '8080'], path: 'port.txt', line: 2 };
    const id = await start(tool('c1', 'ask', ask), shown('8080', done('Set.')));
    const question = await asked(id);
    assert.equal((await until('the thread', () => api.threads.placeOf(question.id))).toString(), uri.toString());
    assert.ok(!api.attention.notified.includes(question.id), 'an editor shows it');
    const [diagnostic] = await until('the diagnostic', () => {
        const all = vscode.languages.getDiagnostics(uri);
        return all.length > 0 && all;
    });
    assert.ok(diagnostic);
    assert.deepEqual(
        [diagnostic.source, diagnostic.severity, diagnostic.range.start.line],
        ['outrigger', vscode.DiagnosticSeverity.Information, 1],
    );
    assert.match(api.attention.bar.text, /1 question/);
    const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
        'vscode.executeCodeActionProvider',
        uri,
        diagnostic.range,
    );
    const action = actions.find(({ title }) => title.endsWith(': 8080'));
    assert.ok(action?.command, actions.map(({ title }) => title).join());
    await vscode.commands.executeCommand(action.command.command, ...((action.command.arguments ?? []) as unknown[]));
    await until('the thread to go', () => api.threads.placeOf(question.id) === undefined);
    await until('the diagnostic to go', () => vscode.languages.getDiagnostics(uri).length === 0);
    assert.equal((await ended(id)).end?.outcome, 'succeeded');
    await closeAll();
});

test('an answer from elsewhere closes the diff and says who gave it', async () => {
    put('elsewhere.txt', mine);
    const { id, question } = await overwrite('elsewhere.txt', done('Kept.'));
    await until('the notification', () => api.attention.notified.includes(question.id));
    await vscode.commands.executeCommand('outrigger.review', { questionId: question.id });
    const { input } = await until('the diff', diffTab);
    await until('the right side', () => textOf(input.modified));
    const edit = new vscode.WorkspaceEdit();
    edit.insert(input.modified, new vscode.Position(0, 0), 'not accepted\n');
    await vscode.workspace.applyEdit(edit);
    const sidecar = api.sidecars.of(workspace());
    await sidecar?.request('outrigger/question/answer', {
        questionId: question.id,
        answer: { type: 'keepMine', reason: null },
        by: 'Ada',
    });
    await until('the tab to go', () => diffTab() === undefined);
    await until('the notification to go', () => !api.attention.notified.includes(question.id));
    const state = resolution(question);
    assert.equal(state?.state === 'answered' && state.by, 'Ada');
    await ended(id);
    assert.equal(onDisk('elsewhere.txt'), mine);
});

test('both sides changed: the merge editor takes the answer', async () => {
    const uri = put('both.txt', mine);
    const id = await start(
        tool('c1', 'read', { path: 'both.txt' }),
        tool('c2', 'command', { command: 'true' }),
        tool('c3', 'write', { path: 'both.txt', content: mine.replace('two', 'agent') }),
        done('Merged.'),
    );
    const permission = await asked(id);
    writeFileSync(uri.fsPath, mine.replace('two', 'user'));
    await vscode.commands.executeCommand('outrigger.answer', permission.id, 'reject');
    const question = await until('the conflict', () =>
        api.sidecars.state.openQuestions().find(({ run, kind }) => run === id && kind.kind === 'overwrite'),
    );
    await vscode.commands.executeCommand('outrigger.mergeEditor', { questionId: question.id });
    await until('the result', () =>
        vscode.window.visibleTextEditors.some(({ document }) => document.uri.scheme === 'outrigger-proposal'),
    );
    await vscode.commands.executeCommand('outrigger.accept', { questionId: question.id });
    assert.equal((await ended(id)).end?.outcome, 'succeeded');
    await until(
        'the merge editor to go',
        () => !vscode.window.visibleTextEditors.some(({ document }) => document.uri.scheme === 'outrigger-proposal'),
    );
    assert.equal(onDisk('both.txt'), mine.replace('two', 'agent'));
    await closeAll();
});

test('a run is stopped with its processes', async () => {
    const id = await start(tool('c1', 'command', { command: 'echo $$ > pid; exec sleep 600' }));
    const question = await asked(id);
    await vscode.commands.executeCommand('outrigger.answer', {
        questionId: question.id,
        answer: { type: 'choice', choice: 'allow' },
    });
    const pid = Number(
        await until('the process', () => readdirSync(workspace().uri.fsPath).includes('pid') && onDisk('pid').trim()),
    );
    await vscode.commands.executeCommand('outrigger.cancel', { runId: id });
    assert.equal((await ended(id)).end?.outcome, 'cancelled');
    await until('the process to go', () => !lives(pid));
});

test('runs start from problems, a selection and a comment', async () => {
    const uri = put('todo.py', '# TODO: say hello\nprint(1)\n');
    const editor = await vscode.window.showTextDocument(uri);
    const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri);
    assert.deepEqual(
        lenses.map(({ command }) => command?.title),
        ['$(rocket) Do this with a run'],
    );
    const problems = vscode.languages.createDiagnosticCollection('lint');
    const range = new vscode.Range(1, 0, 1, 5);
    const problem = new vscode.Diagnostic(range, 'no printing', vscode.DiagnosticSeverity.Warning);
    problem.source = 'lint';
    problems.set(uri, [problem]);
    editor.selection = new vscode.Selection(range.start, range.end);
    const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
        'vscode.executeCodeActionProvider',
        uri,
        range,
    );
    const titles = actions.map(({ title }) => title);
    assert.ok(titles.includes('Fix with Outrigger') && titles.includes('Change this with a run…'), titles.join());

    const path = join(scripts, 'model.script.jsonl');
    writeFileSync(path, `${JSON.stringify({ script: 1, name: 'm' })}\n${JSON.stringify(done('ok'))}\n`);
    const configuration = vscode.workspace.getConfiguration('outrigger');
    await configuration.update('model', `scripted:${path}`, vscode.ConfigurationTarget.Workspace);
    const fixed: unknown = await vscode.commands.executeCommand('outrigger.fixProblems', uri);
    assert.ok(typeof fixed === 'string');
    assert.equal((await ended(fixed)).prompt, 'Fix this problem of todo.py:\ntodo.py:2:1: warning [lint]: no printing');
    const changed: unknown = await typing('shout', () => vscode.commands.executeCommand('outrigger.changeSelection'));
    assert.ok(typeof changed === 'string');
    assert.equal((await ended(changed)).prompt, 'shout\n\nChange lines 2 to 2 of todo.py:\n```\nprint\n```');
    problems.dispose();
    await configuration.update('model', undefined, vscode.ConfigurationTarget.Workspace);
    await closeAll();
});

test('the changes of a run are one diff over its files', async () => {
    put('first.txt', 'eins\n');
    const id = await start(
        tool('c1', 'read', { path: 'first.txt' }),
        tool('c2', 'edit', { path: 'first.txt', edits: [{ old: 'eins', new: 'zwei' }] }),
        tool('c3', 'write', { path: 'made.txt', content: 'new\n' }),
        done('Two files.'),
    );
    await ended(id);
    await vscode.commands.executeCommand('outrigger.showChanges', { runId: id });
    const before = await until('the text of before', () =>
        vscode.workspace.textDocuments.find(({ uri }) => uri.scheme === 'outrigger-before'),
    );
    assert.equal(before.getText(), 'eins\n');
    await vscode.commands.executeCommand('outrigger.openTranscript', { runId: id });
    assert.ok(vscode.window.activeTextEditor?.document.getText().includes('"type":"ended"'));
    await closeAll();
});

test('the sidecar is started again when it dies, and its runs are offered to be resumed', async () => {
    const id = await start(tool('c1', 'command', { command: 'true' }), done('To the end.'));
    const question = await asked(id);
    const [pid] = sidecarPids();
    assert.ok(pid);
    process.kill(pid, 'SIGKILL');
    await until('another process', () => {
        const [now] = sidecarPids();
        return now !== undefined && now !== pid && api.sidecars.phase === 'running';
    });
    await until('the run to be known as cut off', () => runOf(id)?.status === 'interrupted');
    await vscode.commands.executeCommand('outrigger.resume', { runId: id });
    await until('the run to ask again', () => runOf(id)?.status === 'waiting');
    const again = await until('its question', () =>
        api.sidecars.state.openQuestions().find((one) => one.run === id && one.kind.kind === question.kind.kind),
    );
    await vscode.commands.executeCommand('outrigger.answer', again.id, 'reject');
    assert.equal((await ended(id)).end?.outcome, 'succeeded');
    const next = await start(done('Alive.'));
    assert.equal((await ended(next)).end?.outcome, 'succeeded');
});

test('a program that is not there is said, and found again', async () => {
    const configuration = vscode.workspace.getConfiguration('outrigger');
    await configuration.update('path', '/nowhere/outrigger', vscode.ConfigurationTarget.Workspace);
    await until('the phase', () => api.sidecars.phase === 'missing');
    assert.equal(api.attention.bar.text, '$(warning) Outrigger');
    await configuration.update('path', undefined, vscode.ConfigurationTarget.Workspace);
    await until('the sidecar', () => api.sidecars.phase === 'running');
});

function lives(pid: number): boolean {
    try {
        return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
    } catch {
        return false;
    }
}

/** Sidecars that this extension host started. */
function sidecarPids(): number[] {
    const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' }).split('\n');
    return lines.flatMap((line) => {
        const [pid, parent, state, program = ''] = line.trim().split(/\s+/);
        const ours = Number(parent) === process.pid && !state?.startsWith('Z') && /\/outrigger$/.test(program);
        return ours ? [Number(pid)] : [];
    });
}

export async function run(): Promise<void> {
    let failed = 0;
    for (const [name, act] of tests) {
        const began = Date.now();
        try {
            await act();
            console.log(`ok   ${name} (${Date.now() - began} ms)`);
        } catch (error) {
            failed += 1;
            console.log(`FAIL ${name}\n${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
            const last = api.sidecars.state.runsByAge()[0];
            console.log(last?.timeline.map((row) => `     ${row.seq} ${row.text}`).join('\n'));
            // One failure shall not make others.
            await Promise.all(api.sidecars.state.activeRuns().map(({ runId }) => api.sidecars.cancel(runId)));
            await closeAll();
        }
    }
    console.log(`host: ${tests.length - failed} passed, ${failed} failed`);
    if (failed > 0) {
        throw new Error(`${failed} failed`);
    }
}
