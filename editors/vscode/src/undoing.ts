// Taking back what a run did: all of it, or a step, a file, a hunk; shown before it is done, and itself to be taken back.

import * as vscode from 'vscode';
import type { RunId, RunRevertParams, RunRevertResult } from './protocol';
import { offeredReverts, previewText, revertedText, type RevertPart } from './revertWords';
import type { Sidecars } from './sidecars';

const PREVIEW_SCHEME = 'outrigger-preview';
const PREVIEW = vscode.Uri.from({ scheme: PREVIEW_SCHEME, path: '/What the revert does.diff' });

export class Undoing implements vscode.Disposable {
    #preview = '';
    readonly #changed = new vscode.EventEmitter<vscode.Uri>();
    readonly #registration: vscode.Disposable;

    constructor(private readonly sidecars: Sidecars) {
        this.#registration = vscode.workspace.registerTextDocumentContentProvider(PREVIEW_SCHEME, {
            onDidChange: this.#changed.event,
            provideTextDocumentContent: () => this.#preview,
        });
    }

    /** `argument` may say which part; else the user is asked. Nothing is touched before the preview is confirmed. */
    async revert(runId: RunId, argument: unknown): Promise<void> {
        const part = givenPart(argument) ?? (await this.#choose(runId));
        if (!part) {
            return;
        }
        const params: RunRevertParams = { runId, ...part, preview: true };
        const preview = await this.sidecars.revert(params);
        if (preview.files.length === 0) {
            void vscode.window.showInformationMessage('There is nothing to revert.');
            return;
        }
        this.#preview = previewText(preview);
        this.#changed.fire(PREVIEW);
        const document = await vscode.workspace.openTextDocument(PREVIEW);
        await vscode.window.showTextDocument(document, { preview: true });
        const confirmed = await vscode.window.showWarningMessage(
            'Take this back?',
            { modal: true, detail: revertedText(preview, 'preview') },
            'Revert',
        );
        await closePreview();
        if (confirmed === 'Revert') {
            this.#tell(runId, await this.sidecars.revert({ ...params, preview: false }));
        }
    }

    dispose(): void {
        this.#registration.dispose();
        this.#changed.dispose();
    }

    async #choose(runId: RunId): Promise<RevertPart | undefined> {
        const offers = offeredReverts(await this.sidecars.changes(runId));
        const [all] = offers;
        if (!all) {
            void vscode.window.showInformationMessage('This run changed nothing.');
            return undefined;
        }
        const items = offers.map(({ label, description, detail, part }) => ({ label, description, detail, part }));
        const title = 'What shall be taken back?';
        return (await vscode.window.showQuickPick(items, { title, matchOnDescription: true }))?.part;
    }

    /** Says what became of each file, and offers to have everything back. */
    #tell(runId: RunId, result: RunRevertResult): void {
        const undo = result.revertId ? ['Undo the revert'] : [];
        const left = result.files.some(({ outcome }) => outcome === 'left' || outcome === 'failed');
        const say = left ? vscode.window.showWarningMessage : vscode.window.showInformationMessage;
        void say(revertedText(result, 'done'), ...undo).then(async (chosen: string | undefined) => {
            if (chosen !== undefined && result.revertId) {
                const params = { runId: result.revertId, preview: false };
                this.#tell(runId, await this.sidecars.revert(params, runId));
            }
        });
    }
}

function givenPart(argument: unknown): RevertPart | undefined {
    if (typeof argument !== 'object' || argument === null) {
        return undefined;
    }
    const { step, paths, hunks, all } = argument as RevertPart & { all?: boolean };
    if (all === true) {
        return {};
    }
    return step === undefined && paths === undefined
        ? undefined
        : { ...(step ? { step } : {}), ...(paths ? { paths } : {}), ...(hunks ? { hunks } : {}) };
}

async function closePreview(): Promise<void> {
    const tabs = vscode.window.tabGroups.all
        .flatMap((group) => group.tabs)
        .filter((tab) => tab.input instanceof vscode.TabInputText && tab.input.uri.scheme === PREVIEW_SCHEME);
    await vscode.window.tabGroups.close(tabs);
}
