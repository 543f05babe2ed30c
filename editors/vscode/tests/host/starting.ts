// Starting runs, and what they are started with.

import assert from 'node:assert/strict';
import { unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as vscode from 'vscode';
import {
    answering,
    api,
    asked,
    choosing,
    closeAll,
    done,
    ended,
    file,
    onDisk,
    put,
    scripts,
    shown,
    start,
    test,
    tool,
    typing,
    until,
    workspace,
} from './harness';

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

test('only what was set here is sent; what the project says holds for the rest', async () => {
    const setting = (name: string) => {
        const found = api()
            .sidecars.settings(workspace())
            .find((one) => one.name === name);
        return found && [found.value, found.origin.replace(/.*[/]/, '')];
    };
    put('outrigger.toml', '[budget]\ntokens = 4321\niterations = 7\n');
    const configuration = vscode.workspace.getConfiguration('outrigger');
    await configuration.update('budget.iterations', 9, vscode.ConfigurationTarget.Workspace);
    await until('the setting', () => setting('budget.iterations')?.[0] === 9);
    assert.deepEqual(setting('budget.iterations'), [9, 'editor settings']);
    assert.deepEqual(setting('budget.tokens'), [4321, 'outrigger.toml:2']);
    assert.deepEqual(setting('budget.activeS'), [900, 'default']);
    await configuration.update('budget.iterations', undefined, vscode.ConfigurationTarget.Workspace);
    await until('the project’s own value again', () => setting('budget.iterations')?.[0] === 7);
    unlinkSync(file('outrigger.toml').fsPath);
});

test('model, engine and policy are chosen, and shown with where they come from', async () => {
    const holds = (name: string) =>
        api()
            .sidecars.settings(workspace())
            .find((one) => one.name === name)?.value;
    await answering({ showQuickPick: choosing('deny') }, () =>
        vscode.commands.executeCommand('outrigger.choosePolicy', 'policy.commands'),
    );
    await until('the policy', () => holds('policy.commands') === 'deny');
    const id = await start(tool('c1', 'command', { command: 'true' }), shown('not allowed', done('Without.')));
    await ended(id);
    await answering({ showQuickPick: choosing('As the project says') }, () =>
        vscode.commands.executeCommand('outrigger.choosePolicy', 'policy.commands'),
    );
    await until('the default', () => holds('policy.commands') === 'ask');
    await answering({ showQuickPick: choosing('react') }, () =>
        vscode.commands.executeCommand('outrigger.chooseEngine'),
    );
    const engine = () =>
        api()
            .sidecars.settings(workspace())
            .find((one) => one.name === 'engine');
    await until('the engine', () => engine()?.origin === 'editor settings');
    const configuration = vscode.workspace.getConfiguration('outrigger');
    await configuration.update('engine', undefined, vscode.ConfigurationTarget.Workspace);
});

test('a key goes from the secret store to the sidecar, again after each start, and can be forgotten', async () => {
    const key = async () => {
        const listed = await api().sidecars.of(workspace())?.request('outrigger/models/list', { offline: true });
        const state = listed?.providers.find(({ provider }) => provider === 'anthropic')?.state;
        return state?.type === 'configured' ? state.key.from : state?.type;
    };
    const say = (text: string) =>
        answering({ showQuickPick: choosing('anthropic'), showInputBox: text }, () =>
            vscode.commands.executeCommand('outrigger.setApiKey'),
        );
    await say('no-real-key');
    assert.equal(await key(), 'editor');
    assert.deepEqual(await api().keys.names(), ['anthropic']);
    await vscode.commands.executeCommand('outrigger.restart');
    await until('the sidecar', () => api().sidecars.phase === 'running');
    assert.equal(await key(), 'editor');
    await say('');
    assert.equal(await key(), 'missing');
    assert.deepEqual(await api().keys.all(), []);
});

test('a run for all problems of the workspace', async () => {
    const problems = vscode.languages.createDiagnosticCollection('many');
    const range = new vscode.Range(0, 0, 0, 1);
    for (const name of ['one.py', 'two.py']) {
        const { Error, Hint } = vscode.DiagnosticSeverity;
        problems.set(put(name, 'x\n'), [
            new vscode.Diagnostic(range, 'bad', Error),
            new vscode.Diagnostic(range, 'so', Hint),
        ]);
    }
    const path = join(scripts, 'all.script.jsonl');
    writeFileSync(path, `${JSON.stringify({ script: 1, name: 'm' })}\n${JSON.stringify(done('ok'))}\n`);
    const configuration = vscode.workspace.getConfiguration('outrigger');
    await configuration.update('model', `scripted:${path}`, vscode.ConfigurationTarget.Workspace);
    await until('the model', () => api().sidecars.model(workspace()) === `scripted:${path}`);
    const id: unknown = await vscode.commands.executeCommand('outrigger.fixAllProblems');
    assert.ok(typeof id === 'string');
    assert.equal((await ended(id)).prompt, 'Fix these problems:\none.py:1:1: error: bad\ntwo.py:1:1: error: bad');
    problems.dispose();
    await configuration.update('model', undefined, vscode.ConfigurationTarget.Workspace);
});

test('the demo needs no key: it asks, then writes a note', async () => {
    const id: unknown = await vscode.commands.executeCommand('outrigger.runDemo');
    assert.ok(typeof id === 'string');
    const question = await asked(id);
    await vscode.commands.executeCommand('outrigger.answer', question.id, 'Hello');
    const { end, plan } = await ended(id);
    assert.equal(end?.outcome, 'succeeded');
    assert.equal(plan.length, 2);
    assert.match(onDisk('outrigger-demo.md'), /^# A greeting/);
});
