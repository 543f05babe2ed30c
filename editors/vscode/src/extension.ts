// The tour: `sidecars` speaks to the processes and keeps what is known; `approval`, `threads`, `attention`, `panelHost`
// and `changesView` show it; `starting`, `undoing` and `commands` act. What decides something imports `vscode` only as
// types, if at all, and has unit tests.

import * as path from 'node:path';
import * as vscode from 'vscode';
import { Approval } from './approval';
import { Attention } from './attention';
import { ChangesView } from './changesView';
import { registerQuestionCommands } from './commands/questions';
import { registerRunCommands } from './commands/runs';
import { registerSetupCommands } from './commands/setup';
import { FindingActions } from './findingActions';
import { PanelHost } from './panelHost';
import { PanelMemoryFile } from './panelMemoryFile';
import { ProgressNotifications } from './progressNotifications';
import { ProviderKeys } from './providerKeys';
import { ServerDocuments } from './serverDocuments';
import { Sidecars } from './sidecars';
import { Starting } from './starting';
import { Threads } from './threads';
import { TroublePage } from './trouble';
import { Undoing } from './undoing';

/** What other extensions, and the tests, can see. */
export interface OutriggerApi {
    sidecars: Sidecars;
    approval: Approval;
    attention: Attention;
    threads: Threads;
    progress: ProgressNotifications;
    trouble: TroublePage;
    keys: ProviderKeys;
    /** Milliseconds that activation took. */
    activationMs: number;
}

export function activate(context: vscode.ExtensionContext): OutriggerApi {
    const began = performance.now();
    const log = vscode.window.createOutputChannel('Outrigger', { log: true });
    const keys = new ProviderKeys(context.secrets);
    const sidecars = new Sidecars({ bundledFolder: path.join(context.extensionPath, 'bin'), log, keys });
    const documents = new ServerDocuments(sidecars);
    const approval = new Approval(sidecars, documents);
    const threads = new Threads(sidecars);
    const panel = new PanelHost(sidecars, context.extensionUri, new PanelMemoryFile(context.storageUri?.fsPath));
    const progress = new ProgressNotifications(sidecars);
    const trouble = new TroublePage(sidecars, context.logUri);
    const attention = new Attention({ sidecars, approval, threads, progress, isPanelVisible: () => panel.isVisible });
    const starting = new Starting(sidecars, context.workspaceState);
    const undoing = new Undoing(sidecars);
    const changes = new ChangesView(sidecars);
    const { extensionPath } = context;
    context.subscriptions.push(
        ...[log, sidecars, documents, approval, threads, panel, progress, trouble, attention, starting, undoing],
        new FindingActions(),
        vscode.window.registerWebviewViewProvider('outrigger.panel', panel),
        registerRunCommands({ extensionPath, sidecars, starting, changes, undoing, panel, progress }),
        registerQuestionCommands(sidecars, approval, threads),
        registerSetupCommands({ sidecars, keys, trouble, log }),
        sidecars.onDidChange(() => {
            void vscode.commands.executeCommand('setContext', 'outrigger.bothChanged', bothChanged(sidecars));
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
        context.subscriptions.push(offerProgram(sidecars, trouble));
    });
    return { sidecars, approval, attention, threads, progress, trouble, keys, activationMs: performance.now() - began };
}

/** Proposals with a side that both have changed. VS Code's `in` finds an object's keys. */
function bothChanged(sidecars: Sidecars): Record<string, boolean> {
    const resources = sidecars.state
        .openQuestions()
        .filter((question) => Approval.bothChanged(question))
        .map((question) => [Approval.resource(question)?.toString() ?? '', true]);
    return Object.fromEntries(resources) as Record<string, boolean>;
}

/** Once, when the program is missing or keeps ending: what to do. */
function offerProgram(sidecars: Sidecars, trouble: TroublePage): vscode.Disposable {
    let offered = false;
    return sidecars.onDidChange(() => {
        const { phase } = sidecars;
        if (phase === 'running') {
            offered = false;
        }
        if (offered || (phase !== 'missing' && phase !== 'failed')) {
            return;
        }
        offered = true;
        void (phase === 'missing' ? offerMissing(sidecars) : trouble.show());
    });
}

async function offerMissing(sidecars: Sidecars): Promise<void> {
    const search = sidecars
        .all()
        .map((sidecar) => sidecar.search)
        .find((one) => one && !one.found);
    const reason = search && !search.found ? search.reason : 'it was not found';
    const commands = new Map([
        ['Install it…', 'outrigger.installProgram'],
        ['Choose the program…', 'outrigger.findProgram'],
        ['Try again', 'outrigger.restart'],
    ]);
    const chosen = await vscode.window.showWarningMessage(
        `Outrigger cannot start its sidecar: ${reason}. Install it, or say where it is.`,
        ...commands.keys(),
    );
    const command = chosen === undefined ? undefined : commands.get(chosen);
    if (command !== undefined) {
        await vscode.commands.executeCommand(command);
    }
}
