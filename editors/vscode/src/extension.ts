// The tour: `sidecars` speaks to the processes and keeps what is known; `approval`, `threads`, `attention`, `panelHost`
// and `changesView` show it; `starting` and the commands below act. What decides something imports `vscode` only as
// types, if at all, and has unit tests.

import * as path from 'node:path';
import * as vscode from 'vscode';
import { answerInWords, offeredAnswers } from './answers';
import { Approval, isOverwrite } from './approval';
import { Attention } from './attention';
import { ChangesView } from './changesView';
import { PanelHost } from './panelHost';
import { PanelMemoryFile } from './panelMemoryFile';
import type { AnswerInput, Question, RunStartParams } from './protocol';
import { providers } from './settings';
import { isOver } from './sidecarState';
import { cameTooLate, failureText, Sidecars } from './sidecars';
import { Starting } from './starting';
import { Threads } from './threads';

/** What other extensions, and the tests, can see. */
export interface OutriggerApi {
    sidecars: Sidecars;
    approval: Approval;
    attention: Attention;
    threads: Threads;
    /** Milliseconds that activation took. */
    activationMs: number;
}

export function activate(context: vscode.ExtensionContext): OutriggerApi {
    const began = performance.now();
    const log = vscode.window.createOutputChannel('Outrigger', { log: true });
    const sidecars = new Sidecars({
        bundledFolder: path.join(context.extensionPath, 'bin'),
        log,
        environment: () => storedKeys(context.secrets),
    });
    const approval = new Approval(sidecars);
    const threads = new Threads(sidecars);
    const panel = new PanelHost(sidecars, context.extensionUri, new PanelMemoryFile(context.storageUri?.fsPath));
    const attention = new Attention(sidecars, approval, threads, () => panel.isVisible);
    const starting = new Starting(sidecars, context.workspaceState);
    const changes = new ChangesView(sidecars);
    context.subscriptions.push(log, sidecars, approval, threads, panel, attention, starting, changes);
    context.subscriptions.push(vscode.window.registerWebviewViewProvider('outrigger.panel', panel));

    registerRunCommands(context, { sidecars, starting, changes, log });
    registerQuestionCommands(context, sidecars, approval);
    registerSetupCommands(context, sidecars, log);
    context.subscriptions.push(
        sidecars.onDidChange(() => {
            // VS Code's `in` finds an object's keys.
            const resources = sidecars.state
                .openQuestions()
                .filter((question) => Approval.bothChanged(question))
                .map((question) => [Approval.resource(question)?.toString() ?? '', true]);
            const both = Object.fromEntries(resources) as Record<string, boolean>;
            void vscode.commands.executeCommand('setContext', 'outrigger.bothChanged', both);
        }),
        vscode.workspace.onDidChangeConfiguration((change) => {
            if (change.affectsConfiguration('outrigger.path') || change.affectsConfiguration('outrigger.environment')) {
                void sidecars.restart();
            }
        }),
    );

    // The processes start after the activation, which VS Code waits for.
    setImmediate(() => {
        sidecars.startAll();
        offerProgram(sidecars, context);
    });
    return { sidecars, approval, attention, threads, activationMs: performance.now() - began };
}

interface RunCommands {
    sidecars: Sidecars;
    starting: Starting;
    changes: ChangesView;
    log: vscode.LogOutputChannel;
}

function registerRunCommands(
    context: vscode.ExtensionContext,
    { sidecars, starting, changes, log }: RunCommands,
): void {
    const runOf = async (argument: unknown, title: string, which: 'active' | 'all') => {
        const named = runIdIn(argument);
        if (named !== undefined) {
            return named;
        }
        const runs = which === 'active' ? sidecars.state.activeRuns() : sidecars.state.runsByAge();
        if (runs.length <= 1) {
            return runs[0]?.runId;
        }
        const items = runs.map((run) => ({
            label: run.prompt.split('\n')[0] ?? '',
            description: run.status,
            runId: run.runId,
        }));
        return (await vscode.window.showQuickPick(items, { title }))?.runId;
    };
    register(context, {
        'outrigger.run': (argument: unknown) => {
            if (argument instanceof vscode.Uri) {
                return starting.start(undefined);
            }
            if (typeof argument === 'string') {
                return starting.start(argument);
            }
            const { prompt, ...options } = (argument ?? {}) as Partial<RunStartParams>;
            return starting.start(prompt, options);
        },
        'outrigger.runDemo': () =>
            starting.start('Write a note with a greeting, and ask how it shall begin.', {
                model: `scripted:${path.join(context.extensionPath, 'media', 'demo.script.jsonl')}`,
            }),
        'outrigger.changeSelection': () => starting.changeSelection(),
        'outrigger.fixProblems': (uri?: vscode.Uri, problems?: vscode.Diagnostic[]) => {
            const file = uri ?? vscode.window.activeTextEditor?.document.uri;
            return file && starting.fix(file, problems ?? vscode.languages.getDiagnostics(file));
        },
        'outrigger.cancel': async (argument: unknown) => {
            const runId = await runOf(argument, 'Stop which run?', 'active');
            const run = runId === undefined ? undefined : sidecars.state.runs.get(runId);
            if (run && !isOver(run)) {
                await sidecars.cancel(run.runId);
            }
        },
        'outrigger.resume': async (argument: unknown) => {
            const interrupted = sidecars.state.runsByAge().find((run) => run.status === 'interrupted');
            const runId = runIdIn(argument) ?? interrupted?.runId;
            if (runId === undefined) {
                void vscode.window.showInformationMessage('No run was cut off.');
                return;
            }
            try {
                await sidecars.resume(runId);
            } catch (error) {
                void vscode.window.showErrorMessage(`Failed to resume the run: ${failureText(error)}`);
            }
        },
        'outrigger.showChanges': async (argument: unknown) => {
            const runId = await runOf(argument, 'The changes of which run?', 'all');
            if (runId !== undefined) {
                await changes.show(runId);
            }
        },
        'outrigger.openTranscript': async (argument: unknown) => {
            const runId = await runOf(argument, 'The transcript of which run?', 'all');
            const file = runId === undefined ? undefined : await sidecars.transcript(runId);
            if (file !== undefined) {
                await vscode.window.showTextDocument(vscode.Uri.file(file));
            }
        },
        'outrigger.showLog': () => log.show(),
        'outrigger.showPanel': () => vscode.commands.executeCommand('outrigger.panel.focus'),
        'outrigger.restart': () => sidecars.restart(),
    });
}

function registerQuestionCommands(context: vscode.ExtensionContext, sidecars: Sidecars, approval: Approval): void {
    const { state } = sidecars;
    /** The question that an argument names, that the active editor shows, the only one, or one that the user picks. */
    const questionOf = async (argument: unknown, take: (question: Question) => boolean = () => true) => {
        const named = questionIdIn(argument);
        if (named !== undefined) {
            return state.openQuestion(named);
        }
        const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
        const uri =
            input instanceof vscode.TabInputTextDiff ? input.modified : vscode.window.activeTextEditor?.document.uri;
        const shown = approval.questionOf(uri);
        if (shown && take(shown)) {
            return shown;
        }
        const open = state.openQuestions().filter(take);
        if (open.length <= 1) {
            return open[0];
        }
        const items = open.map((question) => ({ label: question.title, question }));
        return (await vscode.window.showQuickPick(items, { title: 'Which question?' }))?.question;
    };
    const reveal = async (question: Question | undefined) => {
        if (!question) {
            return;
        }
        if (isOverwrite(question)) {
            await approval.open(question);
            return;
        }
        const uri = question.place && sidecars.fileUri(question.run, question.place.path);
        if (uri && question.place) {
            const { start } = question.place.range;
            const position = new vscode.Position(start.line, start.utf16);
            await vscode.window.showTextDocument(uri, { selection: new vscode.Range(position, position) });
        } else {
            await vscode.commands.executeCommand('outrigger.panel.focus');
        }
    };
    const step = async (by: 1 | -1) => {
        const open = state.openQuestions();
        const uri = vscode.window.activeTextEditor?.document.uri;
        const shown = approval.questionOf(uri);
        const at = open.findIndex((question) => question.id === shown?.id);
        await reveal(open[at === -1 ? 0 : (at + by + open.length) % open.length]);
    };
    register(context, {
        'outrigger.answer': async (argument: unknown, ...words: unknown[]) => {
            const question = await questionOf(argument);
            if (!question) {
                return;
            }
            const given =
                answerIn(argument) ?? (words.length > 0 ? answerInWords(question, words.join(' ')) : undefined);
            const answer = given ?? (await askForAnswer(question, approval));
            if (answer) {
                await sendAnswer(sidecars, question, answer);
            }
        },
        'outrigger.review': async (argument: unknown) => {
            const question = await questionOf(argument, isOverwrite);
            if (question) {
                await approval.open(question);
            }
        },
        'outrigger.reveal': async (argument: unknown) => reveal(await questionOf(argument)),
        'outrigger.nextQuestion': () => step(1),
        'outrigger.previousQuestion': () => step(-1),
        'outrigger.accept': async (argument: unknown) => {
            const question = await questionOf(argument, isOverwrite);
            if (question) {
                await approval.accept(question);
            }
        },
        'outrigger.completeMerge': async () => {
            const question = await questionOf(undefined, isOverwrite);
            if (question) {
                await approval.accept(question);
            }
        },
        'outrigger.keepMine': async (argument: unknown) => {
            const question = await questionOf(argument, isOverwrite);
            if (question) {
                await approval.keepMine(question);
            }
        },
        'outrigger.mergeEditor': async (argument: unknown) => {
            const question = await questionOf(argument, isOverwrite);
            if (question) {
                await approval.merge(question);
            }
        },
        'outrigger.mineHere': (line: unknown) => approval.takeSide('user', typeof line === 'number' ? line : undefined),
        'outrigger.theirsHere': (line: unknown) =>
            approval.takeSide('agent', typeof line === 'number' ? line : undefined),
    });
}

function registerSetupCommands(
    context: vscode.ExtensionContext,
    sidecars: Sidecars,
    log: vscode.LogOutputChannel,
): void {
    const target = () =>
        vscode.workspace.workspaceFolders ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
    register(context, {
        'outrigger.chooseModel': async () => {
            const configuration = vscode.workspace.getConfiguration('outrigger');
            const model = await vscode.window.showInputBox({
                title: 'The model of this workspace',
                prompt: 'As provider/model, or scripted:FILE. Empty: as outrigger.toml says.',
                value: configuration.get('model', ''),
            });
            if (model !== undefined) {
                await configuration.update('model', model.trim() === '' ? undefined : model.trim(), target());
            }
        },
        'outrigger.chooseCommandPolicy': async () => {
            const items = [
                { label: 'ask', description: 'You are asked' },
                { label: 'allow', description: 'They run' },
                { label: 'deny', description: 'They do not run' },
            ];
            const chosen = await vscode.window.showQuickPick(items, { title: 'When the agent wants to run a command' });
            if (chosen) {
                const configuration = vscode.workspace.getConfiguration('outrigger');
                await configuration.update('policy.commands', chosen.label, target());
            }
        },
        'outrigger.setApiKey': async () => {
            const items = providers.map(({ name, variable }) => ({ label: name, description: variable, variable }));
            const provider = await vscode.window.showQuickPick(items, { title: 'The key of which provider?' });
            if (!provider) {
                return;
            }
            const key = await vscode.window.showInputBox({
                title: `Key for ${provider.label}`,
                prompt: 'It goes to your system’s key store and to the sidecar, nowhere else. Empty: forget it.',
                password: true,
                ignoreFocusOut: true,
            });
            if (key === undefined) {
                return;
            }
            if (key.trim() === '') {
                await context.secrets.delete(provider.variable);
            } else {
                await context.secrets.store(provider.variable, key.trim());
            }
            await sidecars.restart();
        },
        'outrigger.findProgram': async () => {
            const chosen = await vscode.window.showOpenDialog({ title: 'The outrigger program', canSelectMany: false });
            const [file] = chosen ?? [];
            if (file) {
                const configuration = vscode.workspace.getConfiguration('outrigger');
                await configuration.update('path', file.fsPath, vscode.ConfigurationTarget.Global);
            }
        },
    });
    log.debug('commands are registered');
}

/** Once, when the program is missing or keeps ending: what to do. */
function offerProgram(sidecars: Sidecars, context: vscode.ExtensionContext): void {
    let offered = false;
    context.subscriptions.push(
        sidecars.onDidChange(() => {
            const { phase } = sidecars;
            if (phase === 'running') {
                offered = false;
            }
            if (offered || (phase !== 'missing' && phase !== 'failed')) {
                return;
            }
            offered = true;
            void (phase === 'missing' ? offerMissing(sidecars) : offerFailed());
        }),
    );
}

async function offerMissing(sidecars: Sidecars): Promise<void> {
    const search = sidecars
        .all()
        .map((sidecar) => sidecar.search)
        .find((one) => one && !one.found);
    const reason = search && !search.found ? search.reason : 'it was not found';
    const chosen = await vscode.window.showWarningMessage(
        `Outrigger cannot start its sidecar: ${reason}. Install it, for example with \`cargo install outrigger\`, or say where it is.`,
        'Choose the program',
        'Try again',
    );
    if (chosen === 'Choose the program') {
        await vscode.commands.executeCommand('outrigger.findProgram');
    } else if (chosen === 'Try again') {
        await sidecars.restart();
    }
}

async function offerFailed(): Promise<void> {
    const chosen = await vscode.window.showErrorMessage(
        'The Outrigger sidecar ended and is not started again. Its log says why; runs that it was at are kept.',
        'Show the log',
        'Start it again',
    );
    if (chosen !== undefined) {
        await vscode.commands.executeCommand(chosen === 'Show the log' ? 'outrigger.showLog' : 'outrigger.restart');
    }
}

async function askForAnswer(question: Question, approval: Approval): Promise<AnswerInput | undefined> {
    if (isOverwrite(question)) {
        await approval.open(question);
        return undefined;
    }
    const own = question.freeText ? [{ label: '$(edit) In my own words…', detail: '', answer: undefined }] : [];
    const offered = offeredAnswers(question).map(({ label, effect, answer }) => ({ label, detail: effect, answer }));
    const chosen = await vscode.window.showQuickPick([...offered, ...own], {
        title: question.title,
        placeHolder: question.detail.split('\n')[0] ?? '',
        ignoreFocusOut: true,
    });
    if (!chosen || chosen.answer) {
        return chosen?.answer;
    }
    const words = await vscode.window.showInputBox({ title: question.title, ignoreFocusOut: true });
    return words === undefined ? undefined : answerInWords(question, words);
}

async function sendAnswer(sidecars: Sidecars, question: Question, answer: AnswerInput): Promise<void> {
    try {
        await sidecars.answer(question, answer);
    } catch (error) {
        const text = cameTooLate(error)
            ? failureText(error)
            : `Failed to answer “${question.title}”: ${failureText(error)}`;
        void vscode.window.showWarningMessage(text);
    }
}

async function storedKeys(secrets: vscode.SecretStorage): Promise<Record<string, string>> {
    const keys = await Promise.all(
        providers.map(async ({ variable }) => [variable, await secrets.get(variable)] as const),
    );
    return Object.fromEntries(keys.filter((key): key is [(typeof key)[0], string] => key[1] !== undefined));
}

function register(context: vscode.ExtensionContext, commands: Record<string, (...args: never[]) => unknown>): void {
    for (const [name, run] of Object.entries(commands)) {
        context.subscriptions.push(vscode.commands.registerCommand(name, run));
    }
}

function runIdIn(argument: unknown): string | undefined {
    return typeof argument === 'string' ? argument : textField(argument, 'runId');
}

function questionIdIn(argument: unknown): string | undefined {
    return typeof argument === 'string' ? argument : textField(argument, 'questionId');
}

function textField(argument: unknown, name: string): string | undefined {
    if (typeof argument !== 'object' || argument === null) {
        return undefined;
    }
    const value: unknown = (argument as Record<string, unknown>)[name];
    return typeof value === 'string' ? value : undefined;
}

function answerIn(argument: unknown): AnswerInput | undefined {
    const answer =
        typeof argument === 'object' && argument !== null && 'answer' in argument ? argument.answer : undefined;
    return typeof answer === 'object' && answer !== null ? (answer as AnswerInput) : undefined;
}
