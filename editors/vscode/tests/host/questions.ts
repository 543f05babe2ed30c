// Questions where they are shown, answered anywhere.

import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import {
    answering,
    api,
    asked,
    closeAll,
    done,
    ended,
    put,
    runOf,
    shown,
    start,
    test,
    tool,
    until,
    workspace,
} from './harness';

test('a command is asked about by a notification, which goes with its answer', async () => {
    const id = await start(tool('c1', 'command', { command: 'echo "[x](command:y)"' }), done('Nothing.'));
    const question = await asked(id);
    assert.equal(question.kind.kind, 'command');
    await until('the notification of a question without a place', () => api().attention.notified.includes(question.id));
    await vscode.commands.executeCommand('outrigger.answer', question.id, 'reject');
    await until('the notification to go', () => !api().attention.notified.includes(question.id));
    await ended(id);
});

test('a blocker is a thread and a diagnostic where it is in doubt; answered anywhere it is gone everywhere', async () => {
    const uri = put('port.txt', 'first\nport = ?\n');
    await vscode.window.showTextDocument(uri);
    const ask = { question: 'Which port?', choices: ['80', '8080'], path: 'port.txt', line: 2 };
    const id = await start(tool('c1', 'ask', ask), shown('8080', done('Set.')));
    const question = await asked(id);
    assert.equal((await until('the thread', () => api().threads.placeOf(question.id))).toString(), uri.toString());
    assert.ok(!api().attention.notified.includes(question.id), 'an editor shows it');
    const [diagnostic] = await until('the diagnostic', () => {
        const all = vscode.languages.getDiagnostics(uri);
        return all.length > 0 && all;
    });
    assert.ok(diagnostic);
    assert.deepEqual(
        [diagnostic.source, diagnostic.severity, diagnostic.range.start.line],
        ['outrigger', vscode.DiagnosticSeverity.Information, 1],
    );
    assert.match(api().attention.bar.text, /1 question/);
    const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
        'vscode.executeCodeActionProvider',
        uri,
        diagnostic.range,
    );
    const action = actions.find(({ title }) => title.endsWith(': 8080'));
    assert.ok(action?.command, actions.map(({ title }) => title).join());
    await vscode.commands.executeCommand(action.command.command, ...((action.command.arguments ?? []) as unknown[]));
    await until('the thread to go', () => api().threads.placeOf(question.id) === undefined);
    await until('the diagnostic to go', () => vscode.languages.getDiagnostics(uri).length === 0);
    assert.equal((await ended(id)).end?.outcome, 'succeeded');
    await closeAll();
});

test('who answered elsewhere is said', async () => {
    const said: string[] = [];
    const id = await start(
        tool('c1', 'ask', { question: 'Which?', choices: ['A'], path: null, line: null }),
        done('A.'),
    );
    const question = await asked(id);
    await answering({ setStatusBarMessage: (text: string) => said.push(text) }, async () => {
        await api()
            .sidecars.of(workspace())
            ?.request('outrigger/question/answer', {
                questionId: question.id,
                answer: { type: 'choice', choice: '1' },
                by: 'Ada',
            });
        await until('the message', () => said.length > 0 || runOf(id)?.end);
    });
    assert.deepEqual(said, ['$(comment) Ada answered: Which?']);
    await ended(id);
});
