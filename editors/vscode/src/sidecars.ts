// All sidecars of this window and what is known from them: the one place where news become state.

import * as vscode from 'vscode';
import { ResponseError } from 'vscode-languageclient/node';
import type {
    AnswerInput,
    ClientRequests,
    ModelsListResult,
    Question,
    QuestionId,
    RunChangesResult,
    RunId,
    RunRevertParams,
    RunRevertResult,
    RunStartParams,
    RunView,
    Setting,
    Steer,
} from './protocol';
import { KnownSettings } from './knownSettings';
import { Sidecar, type News, type SidecarOptions } from './sidecar';
import { isOver, SidecarState, type RunState } from './sidecarState';
import type { ServerPhase } from './statusText';

const EVENTS_AT_ONCE = 1000;

export class Sidecars implements vscode.Disposable {
    readonly state = new SidecarState();

    readonly #changed = new vscode.EventEmitter<void>();
    readonly #opened = new vscode.EventEmitter<Question>();
    readonly #resolved = new vscode.EventEmitter<Question>();
    readonly #ended = new vscode.EventEmitter<RunState>();
    readonly #interrupted = new vscode.EventEmitter<RunView>();
    /** Anything changed; said often. */
    readonly onDidChange = this.#changed.event;
    readonly onDidOpenQuestion = this.#opened.event;
    /** Answered by anyone, or withdrawn. */
    readonly onDidResolveQuestion = this.#resolved.event;
    /** A run ended that was going on before. */
    readonly onDidEndRun = this.#ended.event;
    /** A run that an earlier process did not end, and that waits to be taken up. */
    readonly onDidFindInterrupted = this.#interrupted.event;

    readonly #sidecars = new Map<string, Sidecar>();
    readonly #openIds = new Set<string>();
    readonly #activeIds = new Set<string>();
    /** Runs whose missing events are being fetched. */
    readonly #catchingUp = new Map<RunId, Promise<void>>();
    /** The highest number of an event that was seen, taken or not. */
    readonly #seen = new Map<RunId, number>();
    readonly #answered = new Set<QuestionId>();
    readonly #known = new KnownSettings();
    readonly #subscriptions: vscode.Disposable[] = [];

    constructor(private readonly options: SidecarOptions) {
        this.#subscriptions.push(
            vscode.workspace.onDidChangeWorkspaceFolders((change) => {
                for (const folder of change.removed) {
                    this.#remove(folder);
                }
                this.startAll();
            }),
            vscode.workspace.onDidGrantWorkspaceTrust(() => this.startAll()),
            vscode.workspace.onDidChangeConfiguration((change) => {
                for (const sidecar of this.all()) {
                    if (change.affectsConfiguration('outrigger', sidecar.folder.uri)) {
                        void this.#settingsChanged(sidecar);
                    }
                }
            }),
        );
    }

    /** Starts a sidecar for each folder of a disk that is trusted; what fails shows in `phase`. */
    startAll(): void {
        for (const folder of vscode.workspace.workspaceFolders ?? []) {
            this.of(folder)
                ?.start()
                .catch((error: unknown) => this.options.log.error(failureText(error)));
        }
        this.#changed.fire();
    }

    /** The sidecar of a folder, not yet started perhaps; `undefined` where none may be. */
    of(folder: vscode.WorkspaceFolder): Sidecar | undefined {
        if (!vscode.workspace.isTrusted || folder.uri.scheme !== 'file') {
            return undefined;
        }
        const key = folder.uri.toString();
        let sidecar = this.#sidecars.get(key);
        if (!sidecar) {
            const made = new Sidecar(folder, this.options);
            sidecar = made;
            this.#sidecars.set(key, made);
            made.onNews((news) => this.#take(made, news));
            made.onPhase((phase) => {
                if (phase === 'running') {
                    this.#synchronise(made).catch((error: unknown) => this.options.log.error(failureText(error)));
                }
                this.#changed.fire();
            });
        }
        return sidecar;
    }

    all(): Sidecar[] {
        return [...this.#sidecars.values()];
    }

    /** The worst phase of all folders' sidecars. */
    get phase(): ServerPhase {
        if ((vscode.workspace.workspaceFolders ?? []).length === 0) {
            return 'off';
        }
        if (!vscode.workspace.isTrusted) {
            return 'untrusted';
        }
        const phases = this.all().map((sidecar) => sidecar.phase);
        const order: ServerPhase[] = ['missing', 'failed', 'starting', 'running'];
        return order.find((phase) => phases.includes(phase)) ?? 'off';
    }

    async restart(): Promise<void> {
        await Promise.all(this.all().map((sidecar) => sidecar.stop()));
        this.startAll();
    }

    async startRun(folder: vscode.WorkspaceFolder, params: RunStartParams): Promise<RunId> {
        const sidecar = this.of(folder);
        if (!sidecar) {
            throw new Error('runs need a folder on a disk, and that you trust it');
        }
        const { runId } = await sidecar.request('outrigger/run/start', params);
        return runId;
    }

    /** Whether this window gave the answer to a question. */
    wasAnsweredHere(id: QuestionId): boolean {
        return this.#answered.has(id);
    }

    async answer(question: Question, answer: AnswerInput): Promise<void> {
        this.#answered.add(question.id);
        try {
            await this.#request(question.run, 'outrigger/question/answer', { questionId: question.id, answer });
        } catch (error) {
            this.#answered.delete(question.id);
            throw error;
        }
    }

    async cancel(runId: RunId): Promise<void> {
        await this.#request(runId, 'outrigger/run/cancel', { runId });
    }

    /** Tells a run something while it works. */
    async steer(runId: RunId, steer: Steer): Promise<void> {
        await this.#request(runId, 'outrigger/run/steer', { runId, steer });
    }

    changes(runId: RunId): Promise<RunChangesResult> {
        return this.#request(runId, 'outrigger/run/changes', { runId });
    }

    /** Takes back what a run did; `folderOf` says whose folder a revert's own id belongs to. */
    revert(params: RunRevertParams, folderOf: RunId = params.runId): Promise<RunRevertResult> {
        return this.#request(folderOf, 'outrigger/run/revert', params);
    }

    /** What holds now in a folder, and where it comes from; as last heard, and asked for when it was not. */
    settings(folder: vscode.WorkspaceFolder): readonly Setting[] {
        return this.#known.settings(folder.uri.toString());
    }

    /** The model of a run that names none. */
    model(folder: vscode.WorkspaceFolder): string | undefined {
        return this.#known.model(folder.uri.toString());
    }

    models(folder: vscode.WorkspaceFolder): Promise<ModelsListResult> {
        const sidecar = this.of(folder);
        return sidecar
            ? sidecar.request('outrigger/models/list', {})
            : Promise.reject(new Error('models need a folder on a disk, and that you trust it'));
    }

    /** Gives a key to all sidecars, or takes it back. */
    async handOverKey(provider: string, key: string | undefined): Promise<void> {
        const running = this.all().filter((sidecar) => sidecar.phase === 'running');
        await Promise.all(running.map((sidecar) => sidecar.sendKey(provider, key)));
        await Promise.all(running.map((sidecar) => this.#learnSettings(sidecar)));
    }

    /** Goes on with a run whose process had ended. */
    async resume(runId: RunId): Promise<void> {
        await this.#request(runId, 'outrigger/run/resume', { runId });
        // What it had asked is asked again, under the same name.
        const { questions } = await this.#request(runId, 'outrigger/question/list', { runId });
        for (const question of questions) {
            this.state.open(question);
        }
        this.#settle();
    }

    async readDocument(runId: RunId, uri: string): Promise<string> {
        return (await this.#request(runId, 'outrigger/document/read', { uri })).text;
    }

    /** One event of a run, whole. */
    async event(runId: RunId, seq: number): Promise<unknown> {
        const answer = await this.#request(runId, 'outrigger/run/events', { runId, afterSeq: seq - 1, limit: 1 });
        return answer.records[0]?.event;
    }

    async transcript(runId: RunId): Promise<string | undefined> {
        const run = this.state.runs.get(runId);
        if (run && run.transcript === undefined) {
            const { runs } = await this.#request(runId, 'outrigger/run/list', {});
            this.state.takeRuns(run.folder, runs);
        }
        return run?.transcript;
    }

    folderOf(runId: RunId): vscode.WorkspaceFolder | undefined {
        const uri = this.state.runs.get(runId)?.folder;
        return vscode.workspace.workspaceFolders?.find((folder) => folder.uri.toString() === uri);
    }

    /** The file that a question or a change names. */
    fileUri(runId: RunId, path: string): vscode.Uri | undefined {
        const folder = this.folderOf(runId);
        return folder && vscode.Uri.joinPath(folder.uri, path);
    }

    dispose(): void {
        for (const disposable of [...this.#subscriptions, ...this.all()]) {
            disposable.dispose();
        }
        this.#sidecars.clear();
    }

    #request<Method extends keyof ClientRequests>(
        runId: RunId,
        method: Method,
        params: ClientRequests[Method]['params'],
    ): Promise<ClientRequests[Method]['result']> {
        const folder = this.folderOf(runId);
        const sidecar = folder && this.of(folder);
        if (!sidecar) {
            return Promise.reject(new Error('the folder of this run is no longer open'));
        }
        return sidecar.request(method, params);
    }

    #take(sidecar: Sidecar, news: News): void {
        const folder = sidecar.folder.uri.toString();
        switch (news.method) {
            case 'outrigger/run/event': {
                const { runId, record } = news.params;
                if (!this.state.runs.has(runId)) {
                    // What no event says: where its transcript is, and whether another process works on it.
                    void this.#learnRuns(sidecar);
                }
                this.#seen.set(runId, record.seq);
                if (this.state.take(folder, runId, record) === 'gap') {
                    void this.#catchUp(sidecar, runId);
                }
                break;
            }
            case 'outrigger/run/interrupted':
                this.state.takeRun(folder, news.params.run);
                void this.#catchUp(sidecar, news.params.run.runId);
                this.#interrupted.fire(news.params.run);
                break;
            case 'outrigger/question/opened':
                this.state.open(news.params.question);
                break;
            case 'outrigger/question/resolved':
                this.state.resolve(news.params.questionId, news.params.state);
                break;
        }
        this.#settle();
    }

    /** Asks for everything after a start: other clients may have started runs, and ours may be gone. */
    async #synchronise(sidecar: Sidecar): Promise<void> {
        const folder = sidecar.folder.uri.toString();
        const { runs } = await sidecar.request('outrigger/run/list', {});
        this.state.takeRuns(folder, runs);
        const { questions } = await sidecar.request('outrigger/question/list', {});
        this.state.takeQuestions(folder, questions, Date.now());
        this.#settle();
        await this.#learnSettings(sidecar);
        for (const run of runs) {
            await this.#catchUp(sidecar, run.runId);
        }
    }

    async #learnRuns(sidecar: Sidecar): Promise<void> {
        try {
            const { runs } = await sidecar.request('outrigger/run/list', {});
            for (const view of runs) {
                this.state.takeRun(sidecar.folder.uri.toString(), view);
            }
            this.#changed.fire();
        } catch (error) {
            this.options.log.warn(failureText(error));
        }
    }

    async #settingsChanged(sidecar: Sidecar): Promise<void> {
        try {
            await sidecar.sendSettings();
            await this.#learnSettings(sidecar);
        } catch (error) {
            this.options.log.warn(failureText(error));
        }
    }

    async #learnSettings(sidecar: Sidecar): Promise<void> {
        await this.#known.learn(sidecar, () => this.#changed.fire());
    }

    #catchUp(sidecar: Sidecar, runId: RunId): Promise<void> {
        const going = this.#catchingUp.get(runId);
        if (going) {
            return going;
        }
        const fetched = this.#fetchEvents(sidecar, runId)
            .catch((error: unknown) => this.options.log.warn(failureText(error)))
            .finally(() => {
                this.#catchingUp.delete(runId);
                this.#settle();
            });
        this.#catchingUp.set(runId, fetched);
        return fetched;
    }

    async #fetchEvents(sidecar: Sidecar, runId: RunId): Promise<void> {
        const folder = sidecar.folder.uri.toString();
        for (;;) {
            const afterSeq = this.state.runs.get(runId)?.lastSeq ?? 0;
            const page = await sidecar.request('outrigger/run/events', { runId, afterSeq, limit: EVENTS_AT_ONCE });
            for (const problem of page.problems ?? []) {
                this.options.log.warn(`${runId}: ${problem}`);
            }
            for (const record of page.records) {
                this.state.take(folder, runId, record);
            }
            const now = this.state.runs.get(runId)?.lastSeq ?? 0;
            // An event may have come while this page was on its way, and was not taken then.
            const complete = !page.more && now >= (this.#seen.get(runId) ?? 0);
            if (complete || now === afterSeq) {
                return;
            }
        }
    }

    /** Says what is different from the last time. */
    #settle(): void {
        const open = this.state.openQuestions();
        for (const id of [...this.#openIds]) {
            const question = this.state.questions.get(id);
            if (question && question.state.state !== 'open') {
                this.#openIds.delete(id);
                this.#resolved.fire(question);
            }
        }
        for (const question of open) {
            // Until its run is known, nobody could say in which folder it is.
            if (!this.#openIds.has(question.id) && this.state.runs.has(question.run)) {
                this.#openIds.add(question.id);
                this.#opened.fire(question);
            }
        }
        for (const run of this.state.runs.values()) {
            if (!isOver(run)) {
                this.#activeIds.add(run.runId);
            } else if ((run.end ?? run.status === 'interrupted') && this.#activeIds.delete(run.runId)) {
                // The status changes one event before its reasons are told.
                this.#ended.fire(run);
            }
        }
        this.#changed.fire();
    }

    #remove(folder: vscode.WorkspaceFolder): void {
        const key = folder.uri.toString();
        this.#sidecars.get(key)?.dispose();
        this.#sidecars.delete(key);
        this.state.takeRuns(key, []);
        this.#settle();
    }
}

/** An error in words for people. */
export function failureText(error: unknown): string {
    return error instanceof Error ? error.message : String(error);
}

/** Whether a question was answered elsewhere before. */
export function cameTooLate(error: unknown): boolean {
    const data: unknown = error instanceof ResponseError ? error.data : undefined;
    return typeof data === 'object' && data !== null && 'kind' in data && data.kind === 'alreadyAnswered';
}
