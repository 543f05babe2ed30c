// What asks for the user's attention: a notification for a question that no editor shows, one for how a run ended, the
// status bar item. A notification goes when its question is resolved.

import * as vscode from 'vscode';
import { isOverwrite, type Approval } from './approval';
import { offeredAnswers } from './answers';
import { notificationText } from './notificationText';
import type { Question, QuestionId } from './protocol';
import type { RunState } from './sidecarState';
import type { Sidecars } from './sidecars';
import { statusText } from './statusText';
import type { Threads } from './threads';

export class Attention implements vscode.Disposable {
    readonly #bar = vscode.window.createStatusBarItem('outrigger.status', vscode.StatusBarAlignment.Left, 50);
    /** Closes a question's notification. */
    readonly #shown = new Map<QuestionId, () => void>();
    readonly #subscriptions: vscode.Disposable[];

    constructor(
        private readonly sidecars: Sidecars,
        private readonly approval: Approval,
        private readonly threads: Threads,
        private readonly isPanelVisible: () => boolean,
    ) {
        this.#bar.name = 'Outrigger';
        this.#subscriptions = [
            this.#bar,
            sidecars.onDidChange(() => this.#update()),
            sidecars.onDidOpenQuestion((question) => this.#opened(question)),
            sidecars.onDidResolveQuestion((question) => {
                this.#shown.get(question.id)?.();
            }),
            sidecars.onDidEndRun((run) => void this.#ended(run)),
        ];
        this.#update();
        this.#bar.show();
    }

    /** Notifications that are open, for tests. */
    get notified(): QuestionId[] {
        return [...this.#shown.keys()];
    }

    get bar(): { text: string; tooltip: string } {
        const { text, tooltip } = this.#bar;
        return { text, tooltip: typeof tooltip === 'string' ? tooltip : '' };
    }

    dispose(): void {
        for (const close of this.#shown.values()) {
            close();
        }
        for (const subscription of this.#subscriptions) {
            subscription.dispose();
        }
    }

    #update(): void {
        const { state, phase } = this.sidecars;
        const { text, tooltip, asks, failed } = statusText(phase, state);
        this.#bar.text = text;
        this.#bar.tooltip = tooltip;
        this.#bar.command =
            phase === 'missing'
                ? 'outrigger.findProgram'
                : phase === 'failed'
                  ? 'outrigger.showLog'
                  : 'outrigger.showPanel';
        this.#bar.backgroundColor = failed
            ? new vscode.ThemeColor('statusBarItem.errorBackground')
            : asks
              ? new vscode.ThemeColor('statusBarItem.warningBackground')
              : undefined;
        void vscode.commands.executeCommand('setContext', 'outrigger.running', state.activeRuns().length > 0);
        void vscode.commands.executeCommand('setContext', 'outrigger.hasQuestions', state.openQuestions().length > 0);
        void vscode.commands.executeCommand('setContext', 'outrigger.ready', phase === 'running');
    }

    #opened(question: Question): void {
        const configuration = vscode.workspace.getConfiguration('outrigger');
        if (isOverwrite(question) && configuration.get<boolean>('questions.openDiff', false)) {
            void this.approval.open(question, { preserveFocus: true });
            return;
        }
        const wanted = configuration.get<'whenHidden' | 'always' | 'never'>('questions.notify', 'whenHidden');
        if (wanted === 'always' || (wanted === 'whenHidden' && !this.#isShown(question))) {
            this.#notify(question);
        }
    }

    /** Whether the question is in sight anyway. */
    #isShown(question: Question): boolean {
        const place = this.threads.placeOf(question.id)?.toString();
        const inEditor = vscode.window.visibleTextEditors.some((editor) => editor.document.uri.toString() === place);
        return inEditor || this.isPanelVisible();
    }

    /** A notification with its answers as links: one with buttons could not be closed when somebody else answers. */
    #notify(question: Question): void {
        const text = notificationText(question, offeredAnswers(question));
        void vscode.window.withProgress(
            { location: vscode.ProgressLocation.Notification, title: 'Outrigger', cancellable: true },
            (progress, dismissed) =>
                new Promise<void>((resolve) => {
                    const close = () => {
                        this.#shown.delete(question.id);
                        resolve();
                    };
                    // VS Code may come to it late.
                    if (!this.sidecars.state.openQuestion(question.id)) {
                        resolve();
                        return;
                    }
                    // A bar that stands still: nothing goes on, something is asked.
                    progress.report({ message: text, increment: 0 });
                    this.#shown.set(question.id, close);
                    // Dismissed is not answered; the question stays open everywhere else.
                    dismissed.onCancellationRequested(close);
                }),
        );
    }

    async #ended(run: RunState): Promise<void> {
        const end = run.end;
        // A run that the user stopped here needs no telling.
        if (
            !end ||
            end.outcome === 'cancelled' ||
            !vscode.workspace.getConfiguration('outrigger').get<boolean>('outcome.notify', true)
        ) {
            return;
        }
        const changes = run.changes.size > 0 ? ['Show the changes'] : [];
        const text = `${run.prompt.split('\n')[0] ?? ''}: ${end.outcome}. ${end.summary.text}`.replace(/\]\(/g, '] (');
        const chosen =
            end.outcome === 'succeeded'
                ? await vscode.window.showInformationMessage(text, ...changes)
                : await vscode.window.showErrorMessage(text, ...changes, 'Open the transcript');
        if (chosen === 'Show the changes') {
            await vscode.commands.executeCommand('outrigger.showChanges', { runId: run.runId });
        } else if (chosen === 'Open the transcript') {
            await vscode.commands.executeCommand('outrigger.openTranscript', { runId: run.runId });
        }
    }
}
