// What comes after a run.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as vscode from 'vscode';
import {
    answering,
    choosing,
    closeAll,
    done,
    ended,
    file,
    jobs,
    mine,
    onDisk,
    put,
    start,
    test,
    theirs,
    tool,
    until,
    workspace,
} from './harness';

test('the changes of a run are one diff over its files', async () => {
    put('first.txt', 'eins\n');
    const id = await start(
        tool('c1', 'read', { path: 'first.txt' }),
        tool('c2', 'edit', { path: 'first.txt', edits: [{ old: 'eins', new: 'zwei' }] }),
        tool('c3', 'write', { path: 'made.txt', content: 'new\n' }),
        done('Two files.'),
    );
    await ended(id);
    await vscode.commands.executeCommand('outrigger.showChanges', { runId: id });
    const before = await until('the text of before', () =>
        vscode.workspace.textDocuments.find(({ uri }) => uri.query === `/run/${id}/before/first.txt`),
    );
    assert.equal(before.getText(), 'eins\n');
    await vscode.commands.executeCommand('outrigger.openTranscript', { runId: id });
    assert.ok(vscode.window.activeTextEditor?.document.getText().includes('"type":"ended"'));
    await closeAll();
});

test('what a run did is taken back by hunk, shown before, and had again', async () => {
    put('undo.txt', mine);
    const id = await start(
        tool('c1', 'read', { path: 'undo.txt' }),
        tool('c2', 'write', { path: 'undo.txt', content: theirs }),
        tool('c3', 'write', { path: 'undone.txt', content: 'made\n' }),
        done('Two files.'),
    );
    await ended(id);
    assert.equal(onDisk('undo.txt'), theirs);
    let previewed = '';
    const confirm = (...asked: unknown[]) => {
        const preview = vscode.workspace.textDocuments.find(({ uri }) => uri.scheme === 'outrigger-preview');
        previewed = preview?.getText() ?? '';
        return asked.includes('Revert') ? 'Revert' : undefined;
    };
    // Looked at and not confirmed: nothing happens.
    await answering({ showQuickPick: choosing('All that'), showWarningMessage: undefined }, () =>
        vscode.commands.executeCommand('outrigger.revert', { runId: id }),
    );
    assert.equal(onDisk('undo.txt'), theirs);
    const say: string[] = [];
    await answering(
        {
            showQuickPick: choosing('undo.txt, line 8'),
            showWarningMessage: confirm,
            showInformationMessage: (text: string) => {
                say.push(text);
                return undefined;
            },
        },
        () => vscode.commands.executeCommand('outrigger.revert', { runId: id }),
    );
    assert.match(previewed, /^# undo.txt[^]*\+eight/);
    assert.equal(onDisk('undo.txt'), theirs.replace('八', 'eight'));
    assert.equal(onDisk('undone.txt'), 'made\n');
    assert.match(say.join(), /^undo.txt is without what the run did/);
    // The rest, and that is taken back again by the button of the message.
    await answering(
        {
            showWarningMessage: confirm,
            showInformationMessage: (text: string) =>
                text.includes('undone.txt is gone') ? 'Undo the revert' : undefined,
        },
        async () => {
            await vscode.commands.executeCommand('outrigger.revert', { runId: id, all: true });
            await until('everything again', () => existsSync(file('undone.txt').fsPath));
        },
    );
    await until('the text again', () => onDisk('undo.txt') === theirs.replace('八', 'eight'));
    await closeAll();
});

test('a run’s commit message is handed to the source control box, and nothing is staged', async () => {
    execFileSync('git', ['init', '-q', workspace().uri.fsPath]);
    const git = vscode.extensions.getExtension<GitExports>('vscode.git');
    assert.ok(git, 'VS Code has its Git extension');
    const exported = (await git.activate()).getAPI(1);
    const repository = await until('the repository', () => exported.getRepository(workspace().uri) ?? undefined);
    const id = await start(tool('c1', 'write', { path: 'committed.txt', content: 'é\n' }), done('Wrote it.'));
    await ended(id);
    await vscode.commands.executeCommand('outrigger.commitMessage', { runId: id });
    assert.equal(repository.inputBox.value, `Do job ${jobs()}\n\nWrote it.`);
    const staged = execFileSync('git', ['-C', workspace().uri.fsPath, 'diff', '--cached', '--name-only']);
    assert.equal(staged.toString(), '');
});

interface GitExports {
    getAPI(version: 1): { getRepository(uri: vscode.Uri): { inputBox: { value: string } } | null };
}
