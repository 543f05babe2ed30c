// Starting runs: from the palette, a selection, problems, a comment, the lightbulb.

import * as vscode from 'vscode';
import { expandMentions, fenced, mentions, type MentionContext } from './mentions';
import type { RunId, RunStartParams } from './protocol';
import { failureText, type Sidecars } from './sidecars';
import { findTodos } from './todo';

const HISTORY = 'outrigger.prompts';
const REMEMBERED = 50;
/** Problems named in one prompt; the agent finds the rest by checking. */
const MOST_PROBLEMS = 200;
const FILES: vscode.DocumentSelector = { scheme: 'file' };

export class Starting implements vscode.Disposable {
    readonly #subscriptions: vscode.Disposable[];

    constructor(
        private readonly sidecars: Sidecars,
        private readonly memory: vscode.Memento,
    ) {
        this.#subscriptions = [
            vscode.languages.registerCodeActionsProvider(FILES, new StartActions(), {
                providedCodeActionKinds: [vscode.CodeActionKind.RefactorRewrite],
            }),
            vscode.languages.registerCodeLensProvider(FILES, new TodoLenses()),
        ];
    }

    /** Starts a run; asks for the prompt when there is none. */
    async start(
        prompt?: string,
        options: Partial<RunStartParams> = {},
        about?: vscode.Uri,
    ): Promise<RunId | undefined> {
        const folder = await chooseFolder(about);
        if (!folder) {
            return undefined;
        }
        if (!vscode.workspace.isTrusted) {
            await offerTrust();
            return undefined;
        }
        const begun =
            about && about.path !== folder.uri.path ? `${vscode.workspace.asRelativePath(about, false)}: ` : '';
        const words = prompt ?? (await this.#ask(folder, begun));
        if (words === undefined || words.trim() === '') {
            return undefined;
        }
        return this.#start(folder, words, options);
    }

    /** Asks what to do with the selection and starts a run for it. */
    async changeSelection(): Promise<RunId | undefined> {
        const context = mentionContext();
        const { file, selection } = context;
        const editor = vscode.window.activeTextEditor;
        if (file === undefined || !selection || !editor) {
            void vscode.window.showInformationMessage('Select the lines to change first.');
            return undefined;
        }
        const folder = vscode.workspace.getWorkspaceFolder(editor.document.uri);
        const words = await vscode.window.showInputBox({
            title: `Change lines ${selection.first} to ${selection.last} of ${file}`,
            prompt: 'What shall be changed?',
            ignoreFocusOut: true,
        });
        if (!folder || words === undefined || words.trim() === '') {
            return undefined;
        }
        const prompt = `${words.trim()}\n\nChange lines ${selection.first} to ${selection.last} of ${file}:\n${fenced(selection.text)}`;
        return this.#start(folder, prompt);
    }

    /** Starts a run for some problems of a file. */
    async fix(uri: vscode.Uri, problems: readonly vscode.Diagnostic[]): Promise<RunId | undefined> {
        const folder = vscode.workspace.getWorkspaceFolder(uri);
        const about = problems.filter((problem) => problem.source !== 'outrigger');
        if (!folder || about.length === 0) {
            void vscode.window.showInformationMessage('This file has no problems to fix.');
            return undefined;
        }
        const file = vscode.workspace.asRelativePath(uri, false);
        const what = about.length === 1 ? 'this problem' : `these ${about.length} problems`;
        return this.#start(folder, `Fix ${what} of ${file}:\n${about.map((one) => problemText(file, one)).join('\n')}`);
    }

    /** Starts a run for all problems of the workspace that are errors or warnings. */
    async fixAll(): Promise<RunId | undefined> {
        const folder = await chooseFolder();
        const serious = vscode.languages
            .getDiagnostics()
            .flatMap(([uri, problems]) =>
                folder && vscode.workspace.getWorkspaceFolder(uri) === folder
                    ? problems
                          .filter(
                              ({ source, severity }) =>
                                  source !== 'outrigger' && severity <= vscode.DiagnosticSeverity.Warning,
                          )
                          .map((problem) => problemText(vscode.workspace.asRelativePath(uri, false), problem))
                    : [],
            );
        if (!folder || serious.length === 0) {
            void vscode.window.showInformationMessage('There are no errors or warnings to fix.');
            return undefined;
        }
        const told = serious.slice(0, MOST_PROBLEMS);
        const more = serious.length > told.length ? `\n… and ${serious.length - told.length} more` : '';
        return this.#start(folder, `Fix these problems:\n${told.join('\n')}${more}`);
    }

    dispose(): void {
        for (const subscription of this.#subscriptions) {
            subscription.dispose();
        }
    }

    async #start(
        folder: vscode.WorkspaceFolder,
        words: string,
        options: Partial<RunStartParams> = {},
    ): Promise<RunId | undefined> {
        const prompt = expandMentions(words, mentionContext());
        try {
            const runId = await this.sidecars.startRun(folder, { prompt, ...options });
            await this.#remember(words);
            return runId;
        } catch (error) {
            const text = `Failed to start a run: ${failureText(error)}`;
            const chosen = await vscode.window.showErrorMessage(text, 'Choose the model', 'Show the log');
            if (chosen !== undefined) {
                const command = chosen === 'Show the log' ? 'outrigger.showLog' : 'outrigger.chooseModel';
                await vscode.commands.executeCommand(command);
            }
            return undefined;
        }
    }

    async #remember(words: string): Promise<void> {
        const before = this.memory.get<string[]>(HISTORY, []);
        await this.memory.update(HISTORY, [words, ...before.filter((one) => one !== words)].slice(0, REMEMBERED));
    }

    /** A field with the prompts of before, and what can be mentioned. */
    #ask(folder: vscode.WorkspaceFolder, begun: string): Promise<string | undefined> {
        const holds = (name: string) => {
            const setting = this.sidecars.settings(folder).find((one) => one.name === name);
            return typeof setting?.value === 'string' ? setting.value : 'not known yet';
        };
        const input = vscode.window.createQuickPick<vscode.QuickPickItem & { prompt?: string; mention?: string }>();
        input.title = 'Start a run';
        input.placeholder = 'What shall be done? @file, @selection and @problems stand for what is in front of you';
        input.ignoreFocusOut = true;
        input.matchOnDescription = true;
        const modelButton: vscode.QuickInputButton = {
            iconPath: new vscode.ThemeIcon('chip'),
            tooltip: `Model: ${this.sidecars.model(folder) ?? 'none'}`,
        };
        const engineButton: vscode.QuickInputButton = {
            iconPath: new vscode.ThemeIcon('circuit-board'),
            tooltip: `Engine: ${holds('engine')}`,
        };
        const policyButton: vscode.QuickInputButton = {
            iconPath: new vscode.ThemeIcon('shield'),
            tooltip: `Commands: ${holds('policy.commands')}`,
        };
        const commands = new Map([
            [modelButton, 'outrigger.chooseModel'],
            [engineButton, 'outrigger.chooseEngine'],
            [policyButton, 'outrigger.choosePolicy'],
        ]);
        input.buttons = [...commands.keys()];
        input.value = begun;
        const history = this.memory.get<string[]>(HISTORY, []);
        const items = () => {
            const typed = input.value.trim();
            const start =
                typed === '' ? [] : [{ label: '$(rocket) Start', description: typed, prompt: typed, alwaysShow: true }];
            const mention = /(?:^|\s)@(\w*)$/.exec(input.value);
            const offered = mention
                ? Object.entries(mentions)
                      .filter(([name]) => name.startsWith(`@${mention[1] ?? ''}`))
                      .map(([name, meaning]) => ({
                          label: name,
                          description: meaning,
                          mention: name,
                          alwaysShow: true,
                      }))
                : [];
            const earlier = history.map((prompt) => ({ label: `$(history) ${prompt.split('\n')[0] ?? ''}`, prompt }));
            return [...start, ...offered, ...earlier];
        };
        input.items = items();
        return new Promise((resolve) => {
            input.onDidChangeValue(() => {
                input.items = items();
            });
            input.onDidTriggerButton((button) => {
                const command = commands.get(button);
                input.hide();
                if (command !== undefined) {
                    void vscode.commands.executeCommand(command);
                }
            });
            input.onDidAccept(() => {
                const [chosen] = input.selectedItems;
                if (chosen?.mention !== undefined) {
                    const { mention } = chosen;
                    input.value = input.value.replace(/@\w*$/, () => `${mention} `);
                    input.items = items();
                    return;
                }
                resolve(chosen?.prompt ?? input.value);
                input.hide();
            });
            input.onDidHide(() => {
                resolve(undefined);
                input.dispose();
            });
            input.show();
        });
    }
}

/** On a selection. That problems can be fixed with a run is offered by the sidecar itself, in every editor. */
class StartActions implements vscode.CodeActionProvider {
    provideCodeActions(_document: vscode.TextDocument, range: vscode.Range | vscode.Selection): vscode.CodeAction[] {
        if (range.isEmpty) {
            return [];
        }
        const title = 'Change this with a run…';
        const action = new vscode.CodeAction(title, vscode.CodeActionKind.RefactorRewrite);
        action.command = { title, command: 'outrigger.changeSelection' };
        return [action];
    }
}

class TodoLenses implements vscode.CodeLensProvider {
    provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
        const configuration = vscode.workspace.getConfiguration('outrigger', document.uri);
        if (!vscode.workspace.isTrusted || !configuration.get<boolean>('todoLens.enabled', true)) {
            return [];
        }
        const file = vscode.workspace.asRelativePath(document.uri, false);
        return findTodos(document.getText()).map(({ line, text }) => {
            const prompt = `Do what the comment in line ${line + 1} of ${file} asks for, and remove the comment: ${text}`;
            return new vscode.CodeLens(new vscode.Range(line, 0, line, 0), {
                title: '$(rocket) Do this with a run',
                command: 'outrigger.run',
                arguments: [{ prompt }],
            });
        });
    }
}

/** The folder that something is in, else that of the active editor, the only one, or one that the user picks. */
export async function chooseFolder(about?: vscode.Uri): Promise<vscode.WorkspaceFolder | undefined> {
    const folders = vscode.workspace.workspaceFolders ?? [];
    const active = about ?? vscode.window.activeTextEditor?.document.uri;
    const own = active && vscode.workspace.getWorkspaceFolder(active);
    if (own ?? folders.length === 1) {
        return own ?? folders[0];
    }
    if (folders.length === 0) {
        const chosen = await vscode.window.showInformationMessage(
            'A run works in a folder. Open one first.',
            'Open a folder',
        );
        if (chosen !== undefined) {
            await vscode.commands.executeCommand('vscode.openFolder');
        }
        return undefined;
    }
    return vscode.window.showWorkspaceFolderPick({ placeHolder: 'In which folder shall the run work?' });
}

async function offerTrust(): Promise<void> {
    const chosen = await vscode.window.showWarningMessage(
        'Outrigger is off until you trust this folder: it reads its files and runs its tools.',
        'Manage trust',
    );
    if (chosen !== undefined) {
        await vscode.commands.executeCommand('workbench.trust.manage');
    }
}

function mentionContext(): MentionContext {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.uri.scheme !== 'file' || !vscode.workspace.getWorkspaceFolder(editor.document.uri)) {
        return { problems: [] };
    }
    const { document, selection } = editor;
    const file = vscode.workspace.asRelativePath(document.uri, false);
    const problems = vscode.languages
        .getDiagnostics(document.uri)
        .filter((problem) => problem.source !== 'outrigger')
        .map((problem) => problemText(file, problem));
    if (selection.isEmpty) {
        return { file, problems };
    }
    // A selection that ends before a line's first character does not mean that line.
    const last = selection.end.character === 0 ? selection.end.line - 1 : selection.end.line;
    const text = document.getText(selection);
    return {
        file,
        problems,
        selection: { text, first: selection.start.line + 1, last: Math.max(last, selection.start.line) + 1 },
    };
}

/** `path:line:column severity code message`, counted from 1. */
function problemText(file: string, problem: vscode.Diagnostic): string {
    const severity = ['error', 'warning', 'information', 'hint'][problem.severity] ?? 'problem';
    const code = typeof problem.code === 'object' ? problem.code.value : problem.code;
    const { line, character } = problem.range.start;
    const source = [problem.source, code].filter((part) => part !== undefined).join(' ');
    return `${file}:${line + 1}:${character + 1}: ${severity}${source === '' ? '' : ` [${source}]`}: ${problem.message}`;
}
