// Commands that start runs and deal with those that are there.

import * as path from 'node:path';
import * as vscode from 'vscode';
import type { ChangesView } from '../changesView';
import { handToSourceControl } from '../sourceControl';
import type { PanelHost } from '../panelHost';
import type { ProgressNotifications } from '../progressNotifications';
import type { RunStartParams } from '../protocol';
import { isOver, type RunState } from '../sidecarState';
import type { Sidecars } from '../sidecars';
import type { Starting } from '../starting';
import type { Undoing } from '../undoing';
import { runIdIn, textField } from './arguments';
import { register, saying } from './register';

export interface RunContext {
    extensionPath: string;
    sidecars: Sidecars;
    starting: Starting;
    changes: ChangesView;
    undoing: Undoing;
    panel: PanelHost;
    progress: ProgressNotifications;
}

export function registerRunCommands(context: RunContext): vscode.Disposable {
    return vscode.Disposable.from(starting(context), underWay(context), afterwards(context));
}

function starting({ starting, extensionPath }: RunContext): vscode.Disposable {
    return register({
        'outrigger.run': (argument: unknown) => {
            if (argument instanceof vscode.Uri) {
                return starting.start(undefined, {}, argument);
            }
            if (typeof argument === 'string') {
                return starting.start(argument);
            }
            const { prompt, folder, ...options } = (argument ?? {}) as Partial<RunStartParams>;
            // The lightbulb's action says which folder it means; a person's command means the one in front.
            const about = typeof folder === 'string' ? vscode.Uri.parse(folder) : undefined;
            return starting.start(prompt, options, about);
        },
        'outrigger.runDemo': () =>
            starting.start('Write a note with a greeting, and ask how it shall begin.', {
                model: `scripted:${path.join(extensionPath, 'media', 'demo.script.jsonl')}`,
            }),
        'outrigger.changeSelection': () => starting.changeSelection(),
        'outrigger.fixProblems': (uri?: vscode.Uri, problems?: vscode.Diagnostic[]) => {
            const file = uri ?? vscode.window.activeTextEditor?.document.uri;
            return file && starting.fix(file, problems ?? vscode.languages.getDiagnostics(file));
        },
        'outrigger.fixAllProblems': () => starting.fixAll(),
    });
}

function underWay({ sidecars, panel, progress }: RunContext): vscode.Disposable {
    const { state } = sidecars;
    const active = async (argument: unknown, title: string, take: (run: RunState) => boolean = () => true) => {
        const runs = state.activeRuns().filter(take);
        return chooseRun(sidecars, argument, runs, title);
    };
    return register({
        'outrigger.cancel': async (argument: unknown) => {
            const run = await active(argument, 'Stop which run?');
            if (run && !isOver(run)) {
                await saying('stop the run', () => sidecars.cancel(run.runId));
            } else if (run?.status === 'interrupted') {
                // It waits for somebody to take it up, or to give it up.
                await saying('give the run up', () => sidecars.cancel(run.runId));
            }
        },
        'outrigger.resume': async (argument: unknown) => {
            const interrupted = state.runsByAge().filter((run) => run.status === 'interrupted');
            const run = await chooseRun(sidecars, argument, interrupted, 'Resume which run?');
            if (run) {
                await saying('resume the run', () => sidecars.resume(run.runId));
            } else {
                void vscode.window.showInformationMessage('No run was cut off.');
            }
        },
        'outrigger.message': async (argument: unknown) => {
            const run = await active(argument, 'Tell which run?');
            if (!run) {
                return;
            }
            const given = textField(argument, 'text');
            const text =
                given ??
                (await vscode.window.showInputBox({
                    title: firstLine(run.prompt),
                    prompt: 'The agent is told at the next safe point.',
                    placeHolder: 'Leave the tests to me',
                    ignoreFocusOut: true,
                }));
            if (text !== undefined && text.trim() !== '') {
                await saying('tell the run', () => sidecars.steer(run.runId, { type: 'message', text: text.trim() }));
            }
        },
        'outrigger.pause': async (argument: unknown) => {
            const run = await active(argument, 'Pause which run?', (one) => !one.paused);
            if (run) {
                await saying('pause the run', () => sidecars.steer(run.runId, { type: 'pause' }));
            }
        },
        'outrigger.goOn': async (argument: unknown) => {
            const run = await active(argument, 'Which run shall go on?', (one) => one.paused);
            if (run) {
                await saying('let the run go on', () => sidecars.steer(run.runId, { type: 'goOn' }));
            }
        },
        'outrigger.skipStep': async (argument: unknown) => {
            const isStepped = ({ plan }: RunState) => plan.some(({ state, step }) => state === 'in_progress' && step);
            const run = await active(argument, 'Skip the present step of which run?', isStepped);
            if (run) {
                await saying('skip the step', () => sidecars.steer(run.runId, { type: 'skipStep' }));
            }
        },
        'outrigger.useModel': async (argument: unknown) => {
            const run = await active(argument, 'Another model for which run?');
            const given = textField(argument, 'model');
            const model =
                given ?? (run && (await vscode.commands.executeCommand<string>('outrigger.pickModel', run.folder)));
            if (run && typeof model === 'string') {
                await saying('change the model', () => sidecars.steer(run.runId, { type: 'model', model }));
            }
        },
        'outrigger.showRun': async (argument: unknown) => {
            const run = await chooseRun(sidecars, argument, state.runsByAge(), 'Show which run?');
            if (run) {
                panel.select(run.runId);
                await vscode.commands.executeCommand('outrigger.panel.focus');
            }
        },
        'outrigger.showProgress': async (argument: unknown) => {
            const run = await active(argument, 'Show the progress of which run?');
            if (run) {
                progress.show(run);
            }
        },
    });
}

function afterwards({ sidecars, changes, undoing }: RunContext): vscode.Disposable {
    const any = (argument: unknown, title: string) => chooseRun(sidecars, argument, sidecars.state.runsByAge(), title);
    return register({
        'outrigger.showChanges': async (argument: unknown) => {
            const run = await any(argument, 'The changes of which run?');
            if (run) {
                await saying('show the changes', () => changes.show(run.runId));
            }
        },
        'outrigger.revert': async (argument: unknown) => {
            const run = await any(argument, 'Revert which run?');
            if (run) {
                await saying('revert the run', () => undoing.revert(run.runId, argument));
            }
        },
        'outrigger.commitMessage': async (argument: unknown) => {
            const run = await any(argument, 'The message of which run?');
            const folder = run && sidecars.folderOf(run.runId);
            if (run && folder) {
                await saying('hand the message over', () => handToSourceControl(run, folder));
            }
        },
        'outrigger.openTranscript': async (argument: unknown) => {
            const run = await any(argument, 'The transcript of which run?');
            const file = run && (await sidecars.transcript(run.runId));
            if (file !== undefined) {
                await vscode.window.showTextDocument(vscode.Uri.file(file));
            }
        },
    });
}

/** The run that an argument names, the only one there is, or the one that the user picks. */
async function chooseRun(
    { state }: Sidecars,
    argument: unknown,
    runs: readonly RunState[],
    title: string,
): Promise<RunState | undefined> {
    const named = runIdIn(argument);
    if (named !== undefined) {
        return state.runs.get(named);
    }
    if (runs.length <= 1) {
        return runs[0];
    }
    const items = runs.map((run) => ({ label: firstLine(run.prompt), description: run.status, run }));
    return (await vscode.window.showQuickPick(items, { title }))?.run;
}

function firstLine(text: string): string {
    return text.split('\n')[0] ?? '';
}
