// What all tests in the extension host need: the real extension, the real program, a scripted model.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import type { OutriggerApi } from '../../src/extension';
import type { Question, RunId } from '../../src/protocol';
import type { RunState } from '../../src/sidecarState';

/** Far beyond what anything here takes; reached only when something hangs. */
const PATIENCE_MS = 60_000;

type Test = [name: string, run: () => Promise<void>];
const tests: Test[] = [];

/** Registers a test; they run in their order, in one window. */
export function test(name: string, run: () => Promise<void>): void {
    tests.push([name, run]);
}

let extension: OutriggerApi | undefined;
export function api(): OutriggerApi {
    assert.ok(extension, 'the extension was activated');
    return extension;
}
export async function activate(): Promise<OutriggerApi> {
    const found = vscode.extensions.getExtension<OutriggerApi>('outrigger.outrigger');
    assert.ok(found);
    extension = await found.activate();
    return extension;
}

export const scripts = mkdtempSync(join(tmpdir(), 'or-scripts-'));

export function workspace(): vscode.WorkspaceFolder {
    const folder = vscode.workspace.workspaceFolders?.[0];
    assert.ok(folder, 'a folder is open');
    return folder;
}
export const file = (name: string) => vscode.Uri.joinPath(workspace().uri, name);
export const onDisk = (name: string) => readFileSync(file(name).fsPath, 'utf8');

export function put(name: string, text: string): vscode.Uri {
    writeFileSync(file(name).fsPath, text);
    return file(name);
}

/** Waits for what a test is about, by the events that may bring it about. */
export async function until<T>(what: string, look: () => T | undefined | false): Promise<T> {
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

export const tool = (id: string, name: string, args: object) => ({ emit: [{ tool: name, id, args }] });
export const done = (text: string) => ({ emit: [{ text }], stop: 'end' });
export const shown = (text: string, turn: object) => ({ ...turn, expect: { last: { contains: [text] } } });

let scriptCount = 0;
/** How many jobs there were so far; each is named by its number. */
export function jobs(): number {
    return scriptCount;
}

/** Makes these turns what a model says. */
export function model(...turns: object[]): string {
    scriptCount += 1;
    const path = join(scripts, `${scriptCount}.script.jsonl`);
    const lines = [{ script: 1, name: `test${scriptCount}` }, ...turns];
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    return `scripted:${path}`;
}

export async function start(...turns: object[]): Promise<RunId> {
    const chosen = model(...turns);
    const id: unknown = await vscode.commands.executeCommand('outrigger.run', {
        prompt: `do job ${scriptCount}`,
        model: chosen,
    });
    assert.ok(typeof id === 'string', 'the run has an id');
    return id;
}

export const runOf = (id: RunId) => api().sidecars.state.runs.get(id);
export const ended = (id: RunId): Promise<RunState> =>
    until(`the end of ${id}: ${runOf(id)?.timeline.at(-1)?.text ?? ''}`, () => runOf(id)?.end && runOf(id));
export const asked = (id: RunId): Promise<Question> =>
    until('a question', () =>
        api()
            .sidecars.state.openQuestions()
            .find((question) => question.run === id),
    );
export const resolution = (question: Question) => api().sidecars.state.questions.get(question.id)?.state;

export function diffTab(): { tab: vscode.Tab; input: vscode.TabInputTextDiff } | undefined {
    for (const tab of vscode.window.tabGroups.all.flatMap((group) => group.tabs)) {
        if (tab.input instanceof vscode.TabInputTextDiff && tab.input.modified.scheme === 'outrigger-proposal') {
            return { tab, input: tab.input };
        }
    }
    return undefined;
}
export const textOf = (uri: vscode.Uri) =>
    vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString())?.getText();

export async function closeAll(): Promise<void> {
    await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
}

/** Answers what VS Code would ask or say in a dialog; the tests' `vscode` is the extension's own. */
export async function answering<T>(answers: Partial<Record<Dialog, unknown>>, act: () => Thenable<T>): Promise<T> {
    const window = vscode.window as unknown as Record<string, unknown>;
    const originals = Object.keys(answers).map((name) => [name, window[name]] as const);
    for (const [name, answer] of Object.entries(answers)) {
        window[name] = (...asked: unknown[]) =>
            Promise.resolve(
                typeof answer === 'function' ? (answer as (...asked: unknown[]) => unknown)(...asked) : answer,
            );
    }
    try {
        return await act();
    } finally {
        for (const [name, original] of originals) {
            window[name] = original;
        }
    }
}
type Dialog =
    | 'showInputBox'
    | 'showQuickPick'
    | 'showInformationMessage'
    | 'showWarningMessage'
    | 'showErrorMessage'
    | 'setStatusBarMessage';
export const typing = <T>(text: string | undefined, act: () => Thenable<T>) => answering({ showInputBox: text }, act);
/** Chooses the item whose label contains a text. */
export const choosing = (text: string) => (items: { label: string }[]) =>
    items.find(({ label }) => label.includes(text));

const LINES = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];
export const mine = `${LINES.join('\n')}\n`;
export const theirs = mine.replace('two', 'ZWEI é').replace('eight', '八');

export async function overwrite(name: string, then: object): Promise<{ id: RunId; question: Question }> {
    const id = await start(tool('c1', 'write', { path: name, content: theirs }), then);
    return { id, question: await asked(id) };
}

export function lives(pid: number): boolean {
    try {
        return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
    } catch {
        return false;
    }
}

/** Sidecars that this extension host started. */
export function sidecarPids(): number[] {
    const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' }).split('\n');
    return lines.flatMap((line) => {
        const [pid, parent, state, program = ''] = line.trim().split(/\s+/);
        const ours = Number(parent) === process.pid && !state?.startsWith('Z') && /\/outrigger$/.test(program);
        return ours ? [Number(pid)] : [];
    });
}

export async function runAll(): Promise<void> {
    let failed = 0;
    for (const [name, act] of tests) {
        const began = Date.now();
        try {
            await act();
            console.log(`ok   ${name} (${Date.now() - began} ms)`);
        } catch (error) {
            failed += 1;
            console.log(`FAIL ${name}\n${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
            const last = api().sidecars.state.runsByAge()[0];
            console.log(last?.timeline.map((row) => `     ${row.seq} ${row.text}`).join('\n'));
            // One failure shall not make others.
            await Promise.all(
                api()
                    .sidecars.state.activeRuns()
                    .map(({ runId }) => api().sidecars.cancel(runId)),
            );
            await closeAll();
        }
    }
    console.log(`host: ${tests.length - failed} passed, ${failed} failed`);
    if (failed > 0) {
        throw new Error(`${failed} failed`);
    }
}
