// A window whose folder the user does not trust.

import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { activate, answering, api, runAll, sidecarPids, test } from './harness';

test('in a folder that is not trusted nothing runs, and what is off is said', async () => {
    let warned = '';
    assert.equal(vscode.workspace.isTrusted, false);
    await activate();
    // What is begun with the activation would have begun by now.
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([api().sidecars.phase, api().sidecars.all().length], ['untrusted', 0]);
    assert.equal(api().attention.bar.text, '$(shield) Outrigger');
    assert.match(api().attention.bar.tooltip, /trust/);
    const [folder] = vscode.workspace.workspaceFolders ?? [];
    assert.ok(folder);
    await assert.rejects(api().sidecars.startRun(folder, { prompt: 'x' }), /trust/);
    const said = await answering({ showWarningMessage: (text: string) => (warned = text) && undefined }, () =>
        vscode.commands.executeCommand('outrigger.run', { prompt: 'x' }),
    );
    assert.equal(said, undefined);
    assert.match(warned, /off until you trust/);
    const { uri } = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(folder.uri, 'todo.py'));
    const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri);
    assert.deepEqual(lenses, []);
    // The folder names a program of its own; it is neither taken nor run.
    assert.notEqual(vscode.workspace.getConfiguration('outrigger').get('path'), '/evil/outrigger');
    assert.deepEqual(sidecarPids(), []);
});

export { runAll as run };
