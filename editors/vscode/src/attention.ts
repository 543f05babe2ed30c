// What asks for the user's attention: a notification for a question that no editor shows, one for how a run ended, the
// status bar item. A notification goes when its question is resolved.

import { execFile } from 'node:child_process';
import * as vscode from 'vscode';
import { isReviewed, type Approval } from './approval';
import { offeredAnswers } from './answers';
import { notificationText, withoutLinks } from './notificationText';
import type { ProgressNotifications } from './progressNotifications';
import type { Question, QuestionId, RunId, RunView } from './protocol';
import { isOver, type RunState } from './sidecarState';
import type { Sidecars } from './sidecars';
import { statusText } from './statusText';
import { notificationProgram } from './systemNotification';
import type { Threads } from './threads';

export interface AttentionContext {
    sidecars: Sidecars;
    approval: Approval;
    threads: Threads;
    progress: ProgressNotifications;
    isPanelVisible: () => boolean;
}

export class Attention implements vscode.Disposable {
    readonly #bar = vscode.window.createStatusBarItem('outrigger.status', vscode.StatusBarAlignment.Left, 50);
    /** Closes a question's notification. */
    readonly #shown = new Map<QuestionId, () => void>();
    readonly #subscriptions: vscode.Disposable[];

    /** Runs that this window has seen begin. */
    readonly #begun = new Set<RunId>();
    /** Runs that were offered to be resumed. */
    readonly #offered = new Set<RunId>();

    constructor(private readonly context: AttentionContext) {
        const { sidecars } = context;
        this.#bar.name = 'Outrigger';
        this.#subscriptions = [
            this.#bar,
            sidecars.onDidChange(() => this.#update()),
            sidecars.onDidOpenQuestion((question) => this.#opened(question)),
            sidecars.onDidResolveQuestion((question) => {
                this.#shown.get(question.id)?.();
                this.#tellWho(question);
            }),
            sidecars.onDidFindInterrupted((run) => void this.#offerToResume(run)),
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
        const { state, phase } = this.context.sidecars;
        const { text, tooltip, asks, failed } = statusText(phase, state);
        this.#bar.text = text;
        this.#bar.tooltip = tooltip;
        this.#bar.command =
            phase === 'missing'
                ? 'outrigger.findProgram'
                : phase === 'failed'
                  ? 'outrigger.showTrouble'
                  : 'outrigger.showPanel';
        this.#bar.backgroundColor = failed
            ? new vscode.ThemeColor('statusBarItem.errorBackground')
            : asks
              ? new vscode.ThemeColor('statusBarItem.warningBackground')
              : undefined;
        this.#showProgress(state.activeRuns());
        void vscode.commands.executeCommand('setContext', 'outrigger.running', state.activeRuns().length > 0);
        void vscode.commands.executeCommand('setContext', 'outrigger.hasRuns', state.runs.size > 0);
        void vscode.commands.executeCommand('setContext', 'outrigger.hasQuestions', state.openQuestions().length > 0);
        void vscode.commands.executeCommand('setContext', 'outrigger.ready', phase === 'running');
    }

    /** For those who want every run's progress as a notification. */
    #showProgress(active: readonly RunState[]): void {
        for (const run of active) {
            if (this.#begun.has(run.runId)) {
                continue;
            }
            this.#begun.add(run.runId);
            if (vscode.workspace.getConfiguration('outrigger').get<boolean>('progress.notify', false)) {
                this.context.progress.show(run);
            }
        }
    }

    /** Somebody else's answer must not look as if the question had got lost. */
    #tellWho({ id, state, title, run }: Question): void {
        const known = this.context.sidecars.state.runs.get(run);
        if (state.state === 'answered' && !this.context.sidecars.wasAnsweredHere(id) && known && !isOver(known)) {
            void vscode.window.setStatusBarMessage(`$(comment) ${state.by} answered: ${title}`, 8000);
        }
    }

    async #offerToResume(view: RunView): Promise<void> {
        if (this.#offered.has(view.runId)) {
            return;
        }
        this.#offered.add(view.runId);
        const prompt = view.prompt.split('\n')[0] ?? '';
        const chosen = await vscode.window.showWarningMessage(
            `A run was cut off: ${withoutLinks(prompt)}. What it had done is kept.`,
            'Resume',
            'Give it up',
            'Show it',
        );
        const commands = new Map([
            ['Resume', 'outrigger.resume'],
            ['Give it up', 'outrigger.cancel'],
            ['Show it', 'outrigger.showRun'],
        ]);
        const command = chosen === undefined ? undefined : commands.get(chosen);
        if (command !== undefined) {
            await vscode.commands.executeCommand(command, { runId: view.runId });
        }
    }

    /** Only where the screen is the one of the machine that this runs on. */
    #tellSystem(title: string, text: string): void {
        const wanted = vscode.workspace.getConfiguration('outrigger').get<boolean>('notifySystem', false);
        if (!wanted || vscode.window.state.focused) {
            return;
        }
        const program = notificationProgram(process.platform, title, text);
        if (program) {
            // Nobody is disturbed by a notification that could not be shown.
            execFile(program.file, program.arguments, { timeout: 5000 }, () => undefined);
        }
    }

    #opened(question: Question): void {
        this.#tellSystem('Outrigger asks', question.title);
        const configuration = vscode.workspace.getConfiguration('outrigger');
        if (isReviewed(question) && configuration.get<boolean>('questions.openDiff', false)) {
            void this.context.approval.open(question, { preserveFocus: true });
            return;
        }
        const wanted = configuration.get<'whenHidden' | 'always' | 'never'>('questions.notify', 'whenHidden');
        if (wanted === 'always' || (wanted === 'whenHidden' && !this.#isShown(question))) {
            this.#notify(question);
        }
    }

    /** Whether the question is in sight anyway. */
    #isShown(question: Question): boolean {
        const place = this.context.threads.placeOf(question.id)?.toString();
        const inEditor = vscode.window.visibleTextEditors.some((editor) => editor.document.uri.toString() === place);
        return inEditor || this.context.isPanelVisible();
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
                    if (!this.context.sidecars.state.openQuestion(question.id)) {
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
        const text = withoutLinks(`${run.prompt.split('\n')[0] ?? ''}: ${end.outcome}. ${end.summary.text}`);
        this.#tellSystem('Outrigger', text);
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
