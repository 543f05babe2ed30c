// Several folders in one window, and others who work on the same folders: another editor, a terminal.

import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { activate, api, ended, asked, model, done, runAll, shown, test, tool, until } from './harness';

function folder(name: string): vscode.WorkspaceFolder {
    const found = vscode.workspace.workspaceFolders?.find((one) => one.name === name);
    assert.ok(found, `${name} is open`);
    return found;
}

async function start(about: vscode.WorkspaceFolder, ...turns: object[]): Promise<string> {
    const wish = { prompt: `job in ${about.name}`, model: model(...turns), folder: about.uri.toString() };
    const id: unknown = await vscode.commands.executeCommand('outrigger.run', wish);
    assert.ok(typeof id === 'string');
    return id;
}
const ask = tool('c1', 'ask', { question: 'Which port?', choices: ['80', '8080'], path: null, line: null });

/** The program as this window runs it. */
const program = () => {
    const search = api().sidecars.of(folder('one'))?.search;
    assert.ok(search?.found);
    return search.found.file;
};

/** Another editor on a folder: as much of one as is needed to start a run. */
class OtherEditor {
    readonly #process: ChildProcessWithoutNullStreams;
    #text = '';

    constructor(about: vscode.WorkspaceFolder) {
        this.#process = spawn(program(), ['lsp'], { cwd: about.uri.fsPath });
        this.#process.stdout.on('data', (bytes: Buffer) => (this.#text += bytes.toString()));
        const offer = { version: 1, events: true, questions: true };
        this.#send('initialize', {
            processId: null,
            rootUri: about.uri.toString(),
            clientInfo: { name: 'Another editor' },
            capabilities: { experimental: { outrigger: offer } },
        });
        this.#send('initialized', {}, false);
    }

    start(prompt: string, model: string): void {
        this.#send('outrigger/run/start', { prompt, model });
    }

    has(text: string): boolean {
        return this.#text.includes(text);
    }

    end(): void {
        this.#process.kill('SIGKILL');
    }

    #id = 0;
    #send(method: string, params: object, isRequest = true): void {
        const id = isRequest ? { id: (this.#id += 1) } : {};
        const body = JSON.stringify({ jsonrpc: '2.0', ...id, method, params });
        this.#process.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    }
}

test('each folder has a sidecar, settings and runs of its own', async () => {
    await activate();
    await until('both', () => api().sidecars.phase === 'running' && api().sidecars.all().length === 2);
    const [one, two] = [folder('one'), folder('two')];
    await vscode.workspace
        .getConfiguration('outrigger', two.uri)
        .update('budget.iterations', 3, vscode.ConfigurationTarget.WorkspaceFolder);
    const iterations = (about: vscode.WorkspaceFolder) =>
        api()
            .sidecars.settings(about)
            .find(({ name }) => name === 'budget.iterations')?.value;
    await until('the setting', () => iterations(two) === 3);
    assert.equal(iterations(one), 50);

    const ids = await Promise.all(
        [one, two].map((about) =>
            start(about, tool('c1', 'write', { path: 'made.txt', content: `${about.name}\n` }), done('Made.')),
        ),
    );
    for (const [index, id] of ids.entries()) {
        assert.equal((await ended(id)).end?.outcome, 'succeeded');
        const about = index === 0 ? one : two;
        assert.equal(api().sidecars.folderOf(id)?.name, about.name);
        assert.equal(readFileSync(join(about.uri.fsPath, 'made.txt'), 'utf8'), `${about.name}\n`);
    }
});

test('a terminal answers, and the window says so', async () => {
    const two = folder('two');
    const id = await start(two, ask, shown('8080', done('Set.')));
    const question = await asked(id);
    const said: string[] = [];
    const window = vscode.window as { setStatusBarMessage: unknown };
    const original = window.setStatusBarMessage;
    window.setStatusBarMessage = (text: string) => said.push(text);
    execFileSync(program(), ['answer', question.id, '8080'], { cwd: two.uri.fsPath });
    assert.equal((await ended(id)).end?.outcome, 'succeeded');
    window.setStatusBarMessage = original;
    const state = api().sidecars.state.questions.get(question.id)?.state;
    assert.ok(state?.state === 'answered');
    assert.deepEqual(said, [`$(comment) ${state.by} answered: Which port?`]);
});

/** A run of another editor that asks, as this window has it. */
async function runElsewhere(
    other: OtherEditor,
    prompt: string,
    answer: string,
): Promise<{ id: string; question: string }> {
    other.start(prompt, model(ask, shown(answer, done('Set.'))));
    const run = await until('the run', () =>
        api()
            .sidecars.state.runsByAge()
            .find((one) => one.prompt === prompt),
    );
    const question = await asked(run.runId);
    await until('that it is elsewhere', () => api().sidecars.state.runs.get(run.runId)?.elsewhere);
    return { id: run.runId, question: question.id };
}

test('a run of another editor is shown and answered here', async () => {
    const one = folder('one');
    const other = new OtherEditor(one);
    const { id, question } = await runElsewhere(other, 'job of the other', '80');
    await vscode.commands.executeCommand('outrigger.answer', question, '80');
    assert.equal((await ended(id)).end?.outcome, 'succeeded');
    assert.ok(other.has('questionAnswered'), 'the other was told');
    other.end();
    assert.ok(!existsSync(join(one.uri.fsPath, '.outrigger')));
});

test('a run whose editor dies is taken over', async () => {
    const other = new OtherEditor(folder('one'));
    const { id, question } = await runElsewhere(other, 'job that is left', '8080');
    other.end();
    await until('that it is cut off', () => api().sidecars.state.runs.get(id)?.status === 'interrupted');
    await vscode.commands.executeCommand('outrigger.resume', { runId: id });
    await until('the question again', () => api().sidecars.state.openQuestion(question));
    await vscode.commands.executeCommand('outrigger.answer', question, '8080');
    const { end, elsewhere } = await ended(id);
    assert.deepEqual([end?.outcome, elsewhere], ['succeeded', false]);
});

export async function run(): Promise<void> {
    await runAll();
}
