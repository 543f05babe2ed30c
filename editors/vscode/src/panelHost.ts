// The extension's end of the side panel: sends what is known, takes what is pressed.

import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import { answerInWords } from './answers';
import type { PanelMemoryFile } from './panelMemoryFile';
import type { FromPanel, PanelCommand, PanelState, ToPanel } from './panelMessages';
import { panelState } from './panelView';
import { cameTooLate, failureText, type Sidecars } from './sidecars';

/** The panel is told at most so often; a run says more than anybody can read. */
const PACE_MS = 100;
/** Rows sent at once: more would keep the panel busy for longer than a person notices. */
const ROWS_AT_ONCE = 2000;

export class PanelHost implements vscode.WebviewViewProvider, vscode.Disposable {
    #view: vscode.WebviewView | undefined;
    #timer: NodeJS.Timeout | undefined;
    #selected: string | undefined;
    /** What the panel has: of which run, how many timeline rows, which version of its findings. */
    #sent: { runId: string; rows: number; findings: number } | undefined;
    /**
     * Never shown: VS Code lets a webview have a badge only once it was opened, and a question that waits must be seen
     * before.
     */
    readonly #badge = vscode.window.createTreeView('outrigger.badge', {
        treeDataProvider: { getChildren: () => [], getTreeItem: () => new vscode.TreeItem('') },
    });
    readonly #subscriptions: vscode.Disposable[];

    constructor(
        private readonly sidecars: Sidecars,
        private readonly extensionUri: vscode.Uri,
        private readonly memory: PanelMemoryFile,
    ) {
        this.#subscriptions = [
            this.#badge,
            sidecars.onDidChange(() => this.#schedule()),
            vscode.workspace.onDidChangeConfiguration((change) => {
                if (change.affectsConfiguration('outrigger')) {
                    this.#schedule();
                }
            }),
        ];
    }

    get isVisible(): boolean {
        return this.#view?.visible ?? false;
    }

    /** Shows a run's details. */
    select(runId: string): void {
        this.#selected = runId;
        this.#schedule();
    }

    resolveWebviewView(view: vscode.WebviewView): void {
        this.#view = view;
        view.webview.options = {
            enableScripts: true,
            localResourceRoots: [
                vscode.Uri.joinPath(this.extensionUri, 'dist'),
                vscode.Uri.joinPath(this.extensionUri, 'media'),
            ],
        };
        view.webview.html = this.#html(view.webview);
        view.webview.onDidReceiveMessage((message: FromPanel) => {
            this.#receive(message).catch((error: unknown) => {
                const questionId = 'questionId' in message ? { questionId: message.questionId } : {};
                if (!cameTooLate(error)) {
                    this.#post({ type: 'failed', text: failureText(error), ...questionId });
                }
            });
        });
        view.onDidChangeVisibility(() => this.#schedule());
        view.onDidDispose(() => {
            this.#view = undefined;
        });
    }

    dispose(): void {
        clearTimeout(this.#timer);
        for (const subscription of this.#subscriptions) {
            subscription.dispose();
        }
    }

    async #receive(message: FromPanel): Promise<void> {
        const question = 'questionId' in message ? this.sidecars.state.openQuestion(message.questionId) : undefined;
        switch (message.type) {
            case 'remember':
                await this.memory.write(message.memory);
                break;
            case 'ready': {
                const memory = await this.memory.read();
                if (memory) {
                    this.#post({ type: 'memory', memory });
                }
                this.#selected = message.selected ?? this.#selected;
                this.#sent = undefined;
                this.#send();
                break;
            }
            case 'start': {
                const runId: unknown = await vscode.commands.executeCommand('outrigger.run', {
                    prompt: message.prompt,
                });
                if (typeof runId === 'string') {
                    this.select(runId);
                }
                break;
            }
            case 'select':
                this.select(message.runId);
                break;
            case 'answer':
                if (question) {
                    await this.sidecars.answer(question, message.answer);
                }
                break;
            case 'words': {
                const answer = question && answerInWords(question, message.words);
                if (question && answer) {
                    await this.sidecars.answer(question, answer);
                }
                break;
            }
            case 'review':
            case 'reveal':
                await vscode.commands.executeCommand(`outrigger.${message.type}`, { questionId: message.questionId });
                break;
            case 'message':
                await this.sidecars.steer(message.runId, { type: 'message', text: message.text });
                break;
            case 'open':
                await this.#open(message);
                break;
            case 'detail': {
                const event = await this.sidecars.event(message.runId, message.seq);
                const text = event === undefined ? 'This event is no longer there.' : JSON.stringify(event, null, 2);
                this.#post({ type: 'detail', runId: message.runId, seq: message.seq, text });
                break;
            }
            case 'command':
                await this.#command(message);
                break;
        }
    }

    async #command({ command, runId }: Extract<FromPanel, { type: 'command' }>): Promise<void> {
        const names: Partial<Record<typeof command, string>> = {
            setPath: 'outrigger.findProgram',
            trust: 'workbench.trust.manage',
            openFolder: 'vscode.openFolder',
        };
        const name = names[command] ?? `outrigger.${command}`;
        await vscode.commands.executeCommand(name, ...(runId === undefined ? [] : [{ runId }]));
    }

    #schedule(): void {
        this.#timer ??= setTimeout(() => {
            this.#timer = undefined;
            this.#send();
        }, PACE_MS);
    }

    #send(): void {
        const view = this.#view;
        const { state, phase } = this.sidecars;
        const open = state.openQuestions().length;
        const tooltip = open === 1 ? '1 open question' : `${open} open questions`;
        if (this.#badge.badge?.value !== (open === 0 ? undefined : open)) {
            this.#badge.badge = open === 0 ? undefined : { value: open, tooltip };
        }
        if (!view?.visible) {
            // What is hidden has no page; it asks for everything when it is shown again.
            return;
        }
        this.#selected ??= state.runsByAge()[0]?.runId;
        const context = {
            phase,
            choices: this.#choices(),
            ...(this.#selected === undefined ? {} : { selected: this.#selected }),
        };
        this.#post({ type: 'state', state: panelState(state, context) });
        this.#sendRows();
    }

    /** What a new run is started with, and whence that is. */
    #choices(): PanelState['choices'] {
        const [folder] = vscode.workspace.workspaceFolders ?? [];
        if (!folder) {
            return [];
        }
        const settings = this.sidecars.settings(folder);
        const choice = (label: string, name: string, command: PanelCommand) => {
            const setting = settings.find((one) => one.name === name);
            const value = name === 'model' ? this.sidecars.model(folder) : setting?.value;
            const shown = typeof value === 'string' ? value : name === 'model' ? 'none yet' : '…';
            return { label, value: shown, origin: setting?.origin ?? '', command };
        };
        return [
            choice('Model', 'model', 'chooseModel'),
            choice('Engine', 'engine', 'chooseEngine'),
            choice('Commands', 'policy.commands', 'choosePolicy'),
        ];
    }

    async #open({ runId, path, line, column }: Extract<FromPanel, { type: 'open' }>): Promise<void> {
        const uri = this.sidecars.fileUri(runId, path);
        if (uri) {
            const at = new vscode.Position(line ?? 0, column ?? 0);
            const selection = line === undefined ? {} : { selection: new vscode.Range(at, at) };
            await vscode.window.showTextDocument(uri, selection);
        }
    }

    #sendRows(): void {
        const run = this.#selected === undefined ? undefined : this.sidecars.state.runs.get(this.#selected);
        if (!run) {
            return;
        }
        const { runId, found, timeline } = run;
        const known = this.#sent?.runId === runId ? this.#sent : undefined;
        if (known?.findings !== found.version) {
            inParts(found.rows(), 0, (from, rows) => this.#post({ type: 'findings', runId, from, rows }));
        }
        if (!known || known.rows < timeline.length) {
            inParts(timeline, known?.rows ?? 0, (from, rows) => this.#post({ type: 'rows', runId, from, rows }));
        }
        this.#sent = { runId, rows: timeline.length, findings: found.version };
    }

    #post(message: ToPanel): void {
        void this.#view?.webview.postMessage(message);
    }

    #html(webview: vscode.Webview): string {
        const file = (...path: string[]) =>
            webview.asWebviewUri(vscode.Uri.joinPath(this.extensionUri, ...path)).toString();
        const nonce = randomBytes(16).toString('base64url');
        const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'`;
        return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="${file('media', 'panel.css')}">
<title>Outrigger</title>
</head>
<body>
<main id="panel"></main>
<script nonce="${nonce}" src="${file('dist', 'panel.js')}"></script>
</body>
</html>`;
    }
}

/** At least one part, so that an empty list takes the place of what was there. */
function inParts<Row>(all: readonly Row[], first: number, send: (from: number, rows: Row[]) => void): void {
    let from = first;
    do {
        const rows = all.slice(from, from + ROWS_AT_ONCE);
        send(from, rows);
        from += rows.length;
    } while (from < all.length);
}
