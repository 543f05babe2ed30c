// A run's changes as one diff over all its files.

import * as vscode from 'vscode';
import type { ChangedFile, RunId } from './protocol';
import { changedPath, SIDE_SCHEME } from './questionUri';
import type { Sidecars } from './sidecars';

export class ChangesView {
    constructor(private readonly sidecars: Sidecars) {}

    /** Left each file as it was before the run, right as it is now. */
    async show(runId: RunId): Promise<void> {
        const { files } = await this.sidecars.changes(runId);
        const changed = files.filter(({ kind }) => kind !== 'unchanged');
        const resources = await Promise.all(changed.map((file) => this.#resource(runId, file)));
        const shown = resources.filter((resource) => resource !== undefined);
        if (shown.length === 0) {
            void vscode.window.showInformationMessage('This run changed nothing.');
            return;
        }
        const title = this.sidecars.state.runs.get(runId)?.prompt.split('\n')[0] ?? 'Changes';
        await vscode.commands.executeCommand('vscode.changes', title, shown);
    }

    /** Without a left side VS Code shows a new file, without a right one a deleted one. */
    async #resource(
        runId: RunId,
        { path, before, patch }: ChangedFile,
    ): Promise<[vscode.Uri, vscode.Uri | undefined, vscode.Uri | undefined] | undefined> {
        const now = this.sidecars.fileUri(runId, path);
        if (!now) {
            return undefined;
        }
        // Of what is no text there is only what it is now. Under another path VS Code would call the file renamed.
        const left =
            before === null || patch === ''
                ? undefined
                : vscode.Uri.from({ scheme: SIDE_SCHEME, path: now.path, query: changedPath(runId, 'before', path) });
        return [now, left, (await isThere(now)) ? now : undefined];
    }
}

async function isThere(uri: vscode.Uri): Promise<boolean> {
    try {
        await vscode.workspace.fs.stat(uri);
        return true;
    } catch {
        return false;
    }
}
