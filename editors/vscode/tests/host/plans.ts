// A plan that is looked at before it is followed.

import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { api, asked, done, ended, model, onDisk, resolution, shown, test, tool, until } from './harness';

test('a plan is read in an editor, changed there, and what was made of it is followed', async () => {
    const steps = [
        { kind: 'create', target: 'planned.txt', why: 'one' },
        { kind: 'delete', target: 'never.txt', why: 'gone' },
    ];
    const id: unknown = await vscode.commands.executeCommand('outrigger.run', {
        prompt: 'do it by a plan',
        engine: 'plan',
        policy: { review: 'always' },
        model: model(
            tool('p1', 'propose_plan', { steps }),
            shown('create geplant é.txt', tool('w1', 'write', { path: 'geplant é.txt', content: 'é\n' })),
            done('Made.'),
        ),
    });
    assert.ok(typeof id === 'string');
    const question = await asked(id);
    assert.equal(question.kind.kind, 'plan');
    await vscode.commands.executeCommand('outrigger.review', { questionId: question.id });
    const editor = await until('the plan', () =>
        vscode.window.visibleTextEditors.find(({ document }) => document.uri.scheme === 'outrigger-proposal'),
    );
    const before = editor.document.getText();
    const after = before
        .split('\n')
        .filter((line) => !line.includes('never.txt'))
        .join('\n')
        .replace('planned.txt', 'geplant é.txt');
    assert.notEqual(after, before);
    const { document } = editor;
    const edit = new vscode.WorkspaceEdit();
    edit.replace(document.uri, document.validateRange(new vscode.Range(0, 0, document.lineCount, 0)), after);
    await vscode.workspace.applyEdit(edit);
    // Saving it answers nothing.
    await document.save();
    assert.equal(resolution(question)?.state, 'open');
    await vscode.commands.executeCommand('outrigger.accept');
    const { end, plan } = await ended(id);
    assert.equal(end?.outcome, 'succeeded', end?.summary.text);
    assert.equal(onDisk('geplant é.txt'), 'é\n');
    assert.ok(plan.some(({ title, state }) => title.includes('geplant é.txt') && state === 'done'));
    await until(
        'the plan to go',
        () => !vscode.window.visibleTextEditors.some((one) => one.document.uri.scheme === 'outrigger-proposal'),
    );
    assert.equal(api().sidecars.state.openQuestions().length, 0);
});
