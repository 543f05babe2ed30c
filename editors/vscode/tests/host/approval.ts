// Approving overwrites in the diff and in the merge editor.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import * as vscode from 'vscode';
import {
    api,
    asked,
    closeAll,
    diffTab,
    done,
    ended,
    mine,
    onDisk,
    overwrite,
    put,
    resolution,
    shown,
    start,
    test,
    textOf,
    theirs,
    tool,
    typing,
    until,
    workspace,
} from './harness';

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

test('an answer from elsewhere closes the diff and says who gave it', async () => {
    put('elsewhere.txt', mine);
    const { id, question } = await overwrite('elsewhere.txt', done('Kept.'));
    await until('the notification', () => api().attention.notified.includes(question.id));
    await vscode.commands.executeCommand('outrigger.review', { questionId: question.id });
    const { input } = await until('the diff', diffTab);
    await until('the right side', () => textOf(input.modified));
    const edit = new vscode.WorkspaceEdit();
    edit.insert(input.modified, new vscode.Position(0, 0), 'not accepted\n');
    await vscode.workspace.applyEdit(edit);
    const sidecar = api().sidecars.of(workspace());
    await sidecar?.request('outrigger/question/answer', {
        questionId: question.id,
        answer: { type: 'keepMine', reason: null },
        by: 'Ada',
    });
    await until('the tab to go', () => diffTab() === undefined);
    await until('the notification to go', () => !api().attention.notified.includes(question.id));
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
        api()
            .sidecars.state.openQuestions()
            .find(({ run, kind }) => run === id && kind.kind === 'overwrite'),
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
