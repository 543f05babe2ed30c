// Sidecars that die, that are not there, that keep ending.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { api, asked, done, ended, runOf, scripts, sidecarPids, start, test, tool, until } from './harness';

test('the sidecar is started again when it dies, and its runs are offered to be resumed', async () => {
    const id = await start(tool('c1', 'command', { command: 'true' }), done('To the end.'));
    const question = await asked(id);
    const [pid] = sidecarPids();
    assert.ok(pid);
    const offers: string[] = [];
    let choose: (() => void) | undefined;
    const window = vscode.window as { showWarningMessage: unknown };
    const original = window.showWarningMessage;
    const restore = () => (window.showWarningMessage = original);
    window.showWarningMessage = (text: string, ...rest: string[]) => {
        offers.push(text);
        return new Promise((resolve) => (choose = () => resolve(rest.find((one) => one === 'Resume'))));
    };
    process.kill(pid, 'SIGKILL');
    await until('another process', () => {
        const [now] = sidecarPids();
        return now !== undefined && now !== pid && api().sidecars.phase === 'running';
    });
    await until('the run to be known as cut off', () => runOf(id)?.status === 'interrupted');
    await until('the offer', () => offers.length > 0);
    assert.match(offers.join(), /A run was cut off: do job \d+/);
    restore();
    choose?.();
    await until('the run to ask again', () => runOf(id)?.status === 'waiting');
    const again = await until('its question', () =>
        api()
            .sidecars.state.openQuestions()
            .find((one) => one.run === id && one.kind.kind === question.kind.kind),
    );
    await vscode.commands.executeCommand('outrigger.answer', again.id, 'reject');
    assert.equal((await ended(id)).end?.outcome, 'succeeded');
    const next = await start(done('Alive.'));
    assert.equal((await ended(next)).end?.outcome, 'succeeded');
});

test('a sidecar that keeps ending is not started for ever: a page says why and starts it again', async () => {
    const configuration = vscode.workspace.getConfiguration('outrigger');
    const real = configuration.get<string>('path', '');
    const broken = join(scripts, 'broken');
    // It speaks long enough to be taken for a server, then ends.
    writeFileSync(broken, '#!/bin/sh\necho "it has a reason" >&2\nexit 7\n', { mode: 0o755 });
    await configuration.update('path', broken, vscode.ConfigurationTarget.Workspace);
    await until('the page', () => api().trouble.isOpen);
    await until('the phase', () => api().sidecars.phase === 'failed');
    assert.equal(api().attention.bar.text, '$(error) Outrigger');
    await vscode.commands.executeCommand('outrigger.copyTrouble');
    const copied = await vscode.env.clipboard.readText();
    assert.ok(copied.includes(broken), copied);
    await configuration.update('path', undefined, vscode.ConfigurationTarget.Workspace);
    await until('the sidecar', () => api().sidecars.phase === 'running');
    assert.ok(real !== broken);
    await vscode.commands.executeCommand('outrigger.restart');
    await until('the page to go', () => !api().trouble.isOpen);
    await until('the sidecar again', () => api().sidecars.phase === 'running');
});

test('a program that is not there is said, and found again', async () => {
    const configuration = vscode.workspace.getConfiguration('outrigger');
    await configuration.update('path', '/nowhere/outrigger', vscode.ConfigurationTarget.Workspace);
    await until('the phase', () => api().sidecars.phase === 'missing');
    assert.equal(api().attention.bar.text, '$(warning) Outrigger');
    await configuration.update('path', undefined, vscode.ConfigurationTarget.Workspace);
    await until('the sidecar', () => api().sidecars.phase === 'running');
});
