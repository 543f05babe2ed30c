// The extension as it starts.

import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { activate, test, until } from './harness';

test('it activates in little time of its own and finds the program', async () => {
    const api = await activate();
    console.log(`# VS Code ${vscode.version}, activation ${api.activationMs.toFixed(1)} ms`);
    assert.ok(api.activationMs < 100);
    await until('the sidecar', () => api.sidecars.phase === 'running');
    assert.equal(api.attention.bar.text, '$(rocket) Outrigger');
});
