// What can be done with a run that works.

import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as vscode from 'vscode';
import {
    api,
    asked,
    closeAll,
    done,
    ended,
    lives,
    onDisk,
    put,
    runOf,
    scripts,
    shown,
    start,
    test,
    tool,
    typing,
    until,
    workspace,
} from './harness';

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

test('a run is told something, paused and let go on, followed by a notification', async () => {
    const id = await start(
        tool('c1', 'command', { command: 'true' }),
        shown('Leave the tests to me', tool('c2', 'command', { command: 'false' })),
        done('As you say.'),
    );
    const first = await asked(id);
    await vscode.commands.executeCommand('outrigger.showProgress', { runId: id });
    await until('the notification', () => api().progress.shown.includes(id));
    await typing('Leave the tests to me', () => vscode.commands.executeCommand('outrigger.message', { runId: id }));
    await vscode.commands.executeCommand('outrigger.pause', { runId: id });
    await until('the pause', () => runOf(id)?.paused === true);
    assert.match(api().attention.bar.text, /1 question/);
    await vscode.commands.executeCommand('outrigger.answer', first.id, 'reject');
    await until('the pause in the status bar', () => /paused/.test(api().attention.bar.text));
    await vscode.commands.executeCommand('outrigger.goOn', { runId: id });
    const second = await until('the next question', () =>
        api()
            .sidecars.state.openQuestions()
            .find((question) => question.run === id && question.id !== first.id),
    );
    await vscode.commands.executeCommand('outrigger.answer', second.id, 'reject');
    assert.equal((await ended(id)).end?.outcome, 'succeeded');
    await until('the notification to go', () => !api().progress.shown.includes(id));
});

test('another model takes over a run', async () => {
    const path = join(scripts, 'other.script.jsonl');
    writeFileSync(path, `${JSON.stringify({ script: 1, name: 'other' })}\n${JSON.stringify(done('By the other.'))}\n`);
    const id = await start(tool('c1', 'command', { command: 'true' }), done('Never.'));
    const question = await asked(id);
    await vscode.commands.executeCommand('outrigger.useModel', { runId: id, model: `scripted:${path}` });
    await vscode.commands.executeCommand('outrigger.answer', question.id, 'reject');
    assert.equal((await ended(id)).end?.summary.text, 'By the other.');
});

test('a tool’s own text is one quick fix away', async () => {
    const uri = put('said.rs', 'fn f() {}\n');
    await vscode.window.showTextDocument(uri);
    const problems = vscode.languages.createDiagnosticCollection('said');
    const problem = new vscode.Diagnostic(new vscode.Range(0, 3, 0, 4), 'bad', vscode.DiagnosticSeverity.Error);
    problem.source = 'cargo';
    // As the language client keeps what the sidecar publishes.
    Object.assign(problem, { data: { gate: 'cargo-check', rendered: 'error[E0308]: é\n' } });
    problems.set(uri, [problem]);
    const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
        'vscode.executeCodeActionProvider',
        uri,
        problem.range,
    );
    const action = actions.find(({ title }) => title === 'Show cargo’s own text');
    assert.ok(action?.command, actions.map(({ title }) => title).join());
    await vscode.commands.executeCommand(action.command.command, ...((action.command.arguments ?? []) as unknown[]));
    assert.equal(vscode.window.activeTextEditor?.document.getText(), 'error[E0308]: é\n');
    problems.dispose();
    await closeAll();
});
