// A run's progress as a notification that can stop it, only for those who ask for one.

import * as vscode from 'vscode';
import type { RunId } from './protocol';
import { isOver, type RunState } from './sidecarState';
import type { Sidecars } from './sidecars';
import { progressText } from './statusText';

export class ProgressNotifications implements vscode.Disposable {
    /** Says what is new, by run; closes when the run is over. */
    readonly #shown = new Map<RunId, () => void>();
    readonly #subscription: vscode.Disposable;

    constructor(private readonly sidecars: Sidecars) {
        this.#subscription = sidecars.onDidChange(() => {
            for (const update of [...this.#shown.values()]) {
                update();
            }
        });
    }

    /** Runs whose notification is open, for tests. */
    get shown(): RunId[] {
        return [...this.#shown.keys()];
    }

    show(run: RunState): void {
        const { runId } = run;
        if (this.#shown.has(runId) || isOver(run)) {
            return;
        }
        const title = run.prompt.split('\n')[0] ?? '';
        void vscode.window.withProgress(
            { location: vscode.ProgressLocation.Notification, title, cancellable: true },
            (progress, cancelled) =>
                new Promise<void>((resolve) => {
                    this.#shown.set(runId, () => {
                        const now = this.sidecars.state.runs.get(runId);
                        if (!now || isOver(now)) {
                            this.#shown.delete(runId);
                            resolve();
                            return;
                        }
                        progress.report({ message: progressText(now) });
                    });
                    cancelled.onCancellationRequested(() => {
                        // It closes when the run says that it has ended.
                        void this.sidecars.cancel(runId);
                    });
                    this.#shown.get(runId)?.();
                }),
        );
    }

    dispose(): void {
        this.#subscription.dispose();
        this.#shown.clear();
    }
}
