// A run's changes as one diff over all its files.

import * as vscode from 'vscode';
import type { Record as RunRecord, RunId } from './protocol';
import { filesBefore } from './runChanges';
import type { Sidecars } from './sidecars';

const SCHEME = 'outrigger-before';

export class ChangesView implements vscode.Disposable {
    readonly #texts = new Map<string, string>();
    readonly #registration: vscode.Disposable;

    constructor(private readonly sidecars: Sidecars) {
        this.#registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
            provideTextDocumentContent: (uri) => this.#texts.get(uri.path) ?? '',
        });
    }

    /** Left each file as it was before the run, right as it is now. */
    async show(runId: RunId): Promise<void> {
        const run = this.sidecars.state.runs.get(runId);
        const records: RunRecord[] = await this.sidecars.records(runId);
        const files = filesBefore(records);
        const resources = files.flatMap((file) => {
            const now = this.sidecars.fileUri(runId, file.path);
            if (!now) {
                return [];
            }
            const before = vscode.Uri.from({ scheme: SCHEME, path: `/${runId}/${file.path}` });
            this.#texts.set(before.path, file.before ?? '');
            // Without a left side VS Code shows a new file, without a right one a deleted one.
            return [[now, file.before === null ? undefined : before, file.exists ? now : undefined]];
        });
        if (resources.length === 0) {
            void vscode.window.showInformationMessage('This run changed nothing.');
            return;
        }
        await vscode.commands.executeCommand('vscode.changes', run?.prompt.split('\n')[0] ?? 'Changes', resources);
    }

    dispose(): void {
        this.#registration.dispose();
    }
}
