// Runs that edit files which are open.

import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { closeAll, done, ended, onDisk, put, shown, start, test, tool, until } from './harness';

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
