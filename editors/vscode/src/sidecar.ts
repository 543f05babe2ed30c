// One sidecar process for one workspace folder: started, restarted, spoken to. Decides nothing about runs.

import { access, constants, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import * as vscode from 'vscode';
import {
    CloseAction,
    ErrorAction,
    LanguageClient,
    State,
    type ClientCapabilities,
    type CloseHandlerResult,
    type ErrorHandler,
    type InitializeParams,
    type ServerCapabilities,
    type StaticFeature,
} from 'vscode-languageclient/node';
import { binaryCandidates, findBinary, type BinarySearch } from './binary';
import {
    protocolVersion,
    type ClientOffer,
    type ClientRequests,
    type DocumentSaveParams,
    type DocumentSaveResult,
    type ServerNotifications,
} from './protocol';
import { RestartBudget } from './restartBudget';
import { saveWithoutChanging } from './saving';
import type { ServerPhase } from './statusText';

export type News = {
    [Method in keyof ServerNotifications]: { method: Method; params: ServerNotifications[Method]['params'] };
}[keyof ServerNotifications];

export interface SidecarOptions {
    /** The extension's `bin` folder. */
    bundledFolder: string;
    log: vscode.LogOutputChannel;
    /** Variables for the process besides its inherited ones, such as keys. */
    environment: () => Promise<Record<string, string>>;
}

export class Sidecar implements vscode.Disposable {
    readonly #news = new vscode.EventEmitter<News>();
    readonly #phaseChanged = new vscode.EventEmitter<ServerPhase>();
    readonly onNews = this.#news.event;
    /** `running` is said again after each restart: what was known must then be asked for again. */
    readonly onPhase = this.#phaseChanged.event;

    #phase: ServerPhase = 'off';
    #client: LanguageClient | undefined;
    #starting: Promise<LanguageClient> | undefined;
    #search: BinarySearch | undefined;

    constructor(
        readonly folder: vscode.WorkspaceFolder,
        private readonly options: SidecarOptions,
    ) {}

    get phase(): ServerPhase {
        return this.#phase;
    }

    /** How the program was found, after the first start. */
    get search(): BinarySearch | undefined {
        return this.#search;
    }

    /** Starts the process unless it runs already. */
    start(): Promise<LanguageClient> {
        this.#starting ??= this.#start().catch((error: unknown) => {
            this.#starting = undefined;
            throw error;
        });
        return this.#starting;
    }

    async request<Method extends keyof ClientRequests>(
        method: Method,
        params: ClientRequests[Method]['params'],
    ): Promise<ClientRequests[Method]['result']> {
        const client = await this.start();
        return client.sendRequest<ClientRequests[Method]['result']>(method, params);
    }

    async stop(): Promise<void> {
        const client = this.#client;
        this.#client = undefined;
        this.#starting = undefined;
        // A client that is still starting cannot be stopped, and one that failed has nothing to stop.
        await client?.dispose().catch((error: unknown) => {
            this.options.log.debug(`failed to stop the sidecar: ${String(error)}`);
        });
        this.#setPhase('off');
    }

    dispose(): void {
        void this.stop();
        this.#news.dispose();
        this.#phaseChanged.dispose();
    }

    async #start(): Promise<LanguageClient> {
        const configuration = vscode.workspace.getConfiguration('outrigger', this.folder.uri);
        const places = {
            setting: configuration.get('path', ''),
            bundledFolder: this.options.bundledFolder,
            searchPath: process.env['PATH'] ?? process.env['Path'] ?? '',
            homeFolder: homedir(),
            platform: process.platform,
        };
        this.#search = await findBinary(binaryCandidates(places), isProgram);
        const { found } = this.#search;
        if (!found) {
            this.#setPhase('missing');
            throw new Error(`failed to find the outrigger program: ${this.#search.reason}`);
        }
        this.options.log.info(`${this.folder.name}: ${found.file} (${found.source})`);
        this.#setPhase('starting');

        const environment = { ...configuration.get<Record<string, string>>('environment', {}) };
        Object.assign(environment, await this.options.environment());
        const client = new LanguageClient(
            'outrigger',
            'Outrigger',
            {
                command: found.file,
                args: ['lsp'],
                options: { cwd: this.folder.uri.fsPath, env: { ...process.env, ...environment } },
            },
            {
                documentSelector: [
                    { scheme: 'file', pattern: new vscode.RelativePattern(this.folder, '**/*').pattern },
                ],
                workspaceFolder: this.folder,
                outputChannel: this.options.log,
                traceOutputChannel: this.options.log,
                errorHandler: this.#errorHandler(),
                // Told by this extension, with what to do about it.
                initializationFailedHandler: () => false,
            },
        );
        client.registerFeature(new OutriggerFeature(this.folder));
        this.#listen(client);
        this.#client = client;
        try {
            await client.start();
        } catch (error) {
            this.#setPhase('failed');
            throw error;
        }
        return client;
    }

    #listen(client: LanguageClient): void {
        const methods: (keyof ServerNotifications)[] = [
            'outrigger/run/event',
            'outrigger/run/interrupted',
            'outrigger/question/opened',
            'outrigger/question/resolved',
        ];
        for (const method of methods) {
            client.onNotification(method, (params: unknown) => this.#news.fire({ method, params } as News));
        }
        client.onRequest('outrigger/document/save', (params: DocumentSaveParams): Promise<DocumentSaveResult> =>
            saveWithoutChanging(vscode.Uri.parse(params.uri, true)),
        );
        client.onDidChangeState(({ newState }) => {
            if (client !== this.#client) {
                return;
            }
            if (newState === State.Running) {
                this.#setPhase('running');
            } else if (newState === State.Starting) {
                this.#setPhase('starting');
            } else if (newState === State.Stopped && this.#phase === 'running') {
                this.#setPhase('starting');
            }
        });
    }

    #errorHandler(): ErrorHandler {
        const budget = new RestartBudget();
        return {
            error: () => ({ action: ErrorAction.Continue, handled: true }),
            closed: (): CloseHandlerResult => {
                if (budget.mayRestart(Date.now())) {
                    this.options.log.warn(`${this.folder.name}: the sidecar ended and is started again`);
                    return { action: CloseAction.Restart, handled: true };
                }
                this.options.log.error(`${this.folder.name}: the sidecar ended too often and is not started again`);
                this.#starting = undefined;
                this.#setPhase('failed');
                return { action: CloseAction.DoNotRestart, handled: true };
            },
        };
    }

    #setPhase(phase: ServerPhase): void {
        // `running` again is news: everything that was known may have changed.
        if (phase !== this.#phase || phase === 'running') {
            this.#phase = phase;
            this.#phaseChanged.fire(phase);
        }
    }
}

/** Offers what this extension takes, for one folder, and keeps its commands to itself. */
class OutriggerFeature implements StaticFeature {
    constructor(private readonly folder: vscode.WorkspaceFolder) {}

    fillInitializeParams(params: InitializeParams): void {
        // One process serves one folder, whatever else is open in this window.
        const uri = this.folder.uri.toString();
        // eslint-disable-next-line @typescript-eslint/no-deprecated -- older servers read nothing else
        params.rootUri = uri;
        params.workspaceFolders = [{ uri, name: this.folder.name }];
    }

    fillClientCapabilities(capabilities: ClientCapabilities): void {
        const offer: ClientOffer = { version: protocolVersion, events: true, questions: true, save: true };
        const experimental = (capabilities.experimental ?? {}) as Record<string, unknown>;
        capabilities.experimental = { ...experimental, outrigger: offer };
    }

    preInitialize(capabilities: ServerCapabilities): void {
        // The extension has commands of these names from its activation on, for all folders; the client would register
        // them once for each process, which VS Code refuses.
        delete capabilities.executeCommandProvider;
    }

    initialize(): void {
        // Everything is done before.
    }

    getState(): { kind: 'static' } {
        return { kind: 'static' };
    }

    clear(): void {
        // Holds nothing.
    }
}

async function isProgram(file: string): Promise<boolean> {
    try {
        await access(file, constants.X_OK);
        return (await stat(file)).isFile();
    } catch {
        return false;
    }
}
