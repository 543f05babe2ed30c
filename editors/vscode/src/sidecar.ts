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
import type { ProviderKeys } from './providerKeys';
import { RestartBudget } from './restartBudget';
import { saveWithoutChanging } from './saving';
import { explicitSettings } from './settings';
import type { ServerPhase } from './statusText';

export type News = {
    [Method in keyof ServerNotifications]: { method: Method; params: ServerNotifications[Method]['params'] };
}[keyof ServerNotifications];

export interface SidecarOptions {
    /** The extension's `bin` folder. */
    bundledFolder: string;
    log: vscode.LogOutputChannel;
    keys: ProviderKeys;
}

/** Settings that count when the process starts. */
const AT_START = ['runs', 'log'];

export class Sidecar implements vscode.Disposable {
    readonly #news = new vscode.EventEmitter<News>();
    readonly #phaseChanged = new vscode.EventEmitter<ServerPhase>();
    readonly onNews = this.#news.event;
    /** `running` is said again after each restart: what was known must then be asked for again. */
    readonly onPhase = this.#phaseChanged.event;

    #phase: ServerPhase = 'off';
    #client: LanguageClient | undefined;
    #starting: Promise<LanguageClient> | undefined;
    /** Done when the running process knows settings and keys. */
    #prepared: Promise<void> = Promise.resolve();
    #search: BinarySearch | undefined;
    readonly #budget = new RestartBudget();
    /** Nobody has heard of it yet. */
    #isFirstStart = false;
    /** How the process ended, newest last, for the page about it. */
    readonly #ends: string[] = [];

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

    /** How the process ended when it should not have, newest last. */
    get ends(): readonly string[] {
        return this.#ends;
    }

    /** Tells the process what the user has set, if it runs. */
    async sendSettings(): Promise<void> {
        if (this.#client?.isRunning() === true) {
            const settings = { outrigger: explicitSettings(this.#configuration()) };
            await this.#client.sendNotification('workspace/didChangeConfiguration', { settings });
        }
    }

    /** Hands a key over, or takes it back. */
    async sendKey(provider: string, key: string | undefined): Promise<void> {
        await this.request('outrigger/models/key', { provider, key: key ?? null });
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

    /** Until it answers, or has failed as often as it may. */
    async #start(): Promise<LanguageClient> {
        for (;;) {
            const command = await this.#find();
            this.#setPhase('starting');
            const client = this.#makeClient(command);
            this.#client = client;
            this.#isFirstStart = true;
            try {
                await client.start();
                await this.#prepared;
                return client;
            } catch (error) {
                this.#ends.push(failure(error));
                const isStopped = client !== this.#client;
                if (!isStopped && this.#budget.mayRestart(Date.now())) {
                    continue;
                }
                if (!isStopped) {
                    this.#setPhase('failed');
                }
                throw error;
            } finally {
                this.#isFirstStart = false;
            }
        }
    }

    /** The program, as it is looked for at every start. */
    async #find(): Promise<string> {
        const places = {
            setting: this.#configuration().get('path', ''),
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
        return found.file;
    }

    #makeClient(command: string): LanguageClient {
        const environment = this.#configuration().get<Record<string, string>>('environment', {});
        const client = new LanguageClient(
            'outrigger',
            'Outrigger',
            {
                command,
                args: ['lsp'],
                options: { cwd: this.folder.uri.fsPath, env: { ...process.env, ...environment } },
            },
            {
                documentSelector: [
                    { scheme: 'file', pattern: new vscode.RelativePattern(this.folder, '**/*').pattern },
                ],
                workspaceFolder: this.folder,
                // What is said here holds for the life of the process, whatever is said later; the rest comes after it.
                initializationOptions: () => {
                    const settings = Object.entries(explicitSettings(this.#configuration()));
                    const atStart = Object.fromEntries(settings.filter(([name]) => AT_START.includes(name)));
                    // VS Code has asked its user, and nothing is started before.
                    return { ...atStart, trusted: vscode.workspace.isTrusted };
                },
                outputChannel: this.options.log,
                traceOutputChannel: this.options.log,
                errorHandler: this.#errorHandler(),
                // Told by this extension, with what to do about it.
                initializationFailedHandler: () => false,
            },
        );
        client.registerFeature(new OutriggerFeature(this.folder));
        this.#listen(client);
        return client;
    }

    #configuration(): vscode.WorkspaceConfiguration {
        return vscode.workspace.getConfiguration('outrigger', this.folder.uri);
    }

    /** What a process must know before anything is asked of it: it keeps neither settings nor keys beyond its life. */
    async #prepare(client: LanguageClient): Promise<void> {
        await this.sendSettings();
        for (const [provider, key] of await this.options.keys.all()) {
            await client.sendRequest('outrigger/models/key', { provider, key });
        }
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
                this.#prepared = this.#prepare(client)
                    .catch((error: unknown) =>
                        this.options.log.error(`failed to prepare the sidecar: ${String(error)}`),
                    )
                    .then(() => {
                        if (client === this.#client) {
                            this.#setPhase('running');
                        }
                    });
            } else if (newState === State.Starting) {
                this.#setPhase('starting');
            } else if (newState === State.Stopped && this.#phase === 'running') {
                this.#setPhase('starting');
            }
        });
    }

    #errorHandler(): ErrorHandler {
        return {
            error: () => ({ action: ErrorAction.Continue, handled: true }),
            closed: (): CloseHandlerResult => {
                if (this.#isFirstStart) {
                    // Whoever starts it sees that it failed, and tries again.
                    return { action: CloseAction.DoNotRestart, handled: true };
                }
                this.#ends.push(`The sidecar of ${this.folder.name} ended by itself`);
                if (this.#budget.mayRestart(Date.now())) {
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
        // This extension reads the sidecars' documents itself: only it knows which process has which.
        delete capabilities.workspace?.textDocumentContent;
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

function failure(error: unknown): string {
    return error instanceof Error ? error.message : String(error);
}

async function isProgram(file: string): Promise<boolean> {
    try {
        await access(file, constants.X_OK);
        return (await stat(file)).isFile();
    } catch {
        return false;
    }
}
