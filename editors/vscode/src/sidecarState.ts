// What is known of runs and questions: events in, state out. Pure; the only place where events change state.

import { FindingLedger } from './findingLedger';
import { describeRecord, type TimelineRow } from './timelineRow';
import type {
    Cost,
    PlanItem,
    Question,
    QuestionId,
    QuestionState,
    Record as RunRecord,
    RunEnd,
    RunId,
    RunStatus,
    RunView,
    Usage,
    Waiting,
} from './protocol';

export type ToolCallState = 'requested' | 'started' | 'completed' | 'failed' | 'denied';

export interface ToolCallView {
    name: string;
    summary: string;
    state: ToolCallState;
    startedAt: number;
    endedAt?: number;
}

export interface ChangedFile {
    path: string;
    added: number;
    removed: number;
}

export interface RunState {
    runId: RunId;
    /** The workspace folder's URI. */
    folder: string;
    prompt: string;
    engine: string;
    model: string;
    status: RunStatus;
    waiting?: Waiting;
    startedAt: number;
    usage: Usage;
    cost: Cost;
    /** Nothing new is begun until it goes on. */
    paused: boolean;
    /** Another process on this workspace works on it. */
    elsewhere: boolean;
    plan: PlanItem[];
    /** Number of findings that the run introduced. */
    findings: number;
    /** What the gates have said last. */
    found: FindingLedger;
    toolCalls: Map<string, ToolCallView>;
    /** In order of their first change. */
    changes: Map<string, ChangedFile>;
    timeline: TimelineRow[];
    /** Number of the last event that was taken. */
    lastSeq: number;
    transcript?: string;
    end?: RunEnd;
}

/** What became of an event. `gap`: events between the last one and this one are missing; this one was not taken. */
export type Taken = 'taken' | 'old' | 'gap';

const NO_COST: Cost = { micros: 0, unpricedTokens: 0 };
const NO_USAGE: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
const OVER: ReadonlySet<RunStatus> = new Set(['succeeded', 'failed', 'cancelled', 'interrupted']);

export function isOver(run: Pick<RunState, 'status'>): boolean {
    return OVER.has(run.status);
}

export class SidecarState {
    readonly runs = new Map<RunId, RunState>();
    readonly questions = new Map<QuestionId, Question>();
    /** Questions that nobody can answer until their run goes on. */
    readonly #cutOff = new Set<QuestionId>();

    /** Newest first. */
    runsByAge(): RunState[] {
        return [...this.runs.values()].sort(
            (one, other) => other.startedAt - one.startedAt || (one.runId < other.runId ? 1 : -1),
        );
    }

    /** Oldest first. */
    openQuestions(): Question[] {
        return [...this.questions.values()]
            .filter((question) => question.state.state === 'open')
            .sort((one, other) => one.openedAt - other.openedAt || (one.id < other.id ? -1 : 1));
    }

    openQuestion(id: QuestionId): Question | undefined {
        const question = this.questions.get(id);
        return question?.state.state === 'open' ? question : undefined;
    }

    activeRuns(): RunState[] {
        return this.runsByAge().filter((run) => !isOver(run));
    }

    /** Takes the server's list of a folder's runs; active ones that it no longer knows were cut off with their process. */
    takeRuns(folder: string, views: readonly RunView[]): void {
        const known = new Set(views.map((view) => view.runId));
        for (const run of this.runs.values()) {
            if (run.folder === folder && !isOver(run) && !known.has(run.runId)) {
                this.interrupt(run);
            }
        }
        for (const view of views) {
            this.takeRun(folder, view);
        }
    }

    /** Takes one run as the server lists it. */
    takeRun(folder: string, view: RunView): void {
        const run = this.run(view.runId, folder, view.startedAt);
        run.transcript = view.transcript;
        run.elsewhere = view.elsewhere ?? false;
        if (view.status === 'interrupted' && !isOver(run)) {
            // Nobody is left who could have written an event about it.
            this.interrupt(run);
        }
        if (run.lastSeq > 0) {
            // Its events say the same, and what they add up to must not be added twice.
            return;
        }
        Object.assign(run, {
            prompt: view.prompt,
            engine: view.engine,
            model: view.model,
            status: view.status,
            waiting: view.waiting ?? undefined,
            startedAt: view.startedAt,
            usage: view.usage,
            cost: view.cost,
            plan: view.plan,
            findings: view.findings,
            end: view.end ?? undefined,
        });
    }

    /** Takes the server's list of a folder's open questions; others of its runs are no longer open. */
    takeQuestions(folder: string, questions: readonly Question[], now: number): void {
        const listed = new Set(questions.map((question) => question.id));
        for (const question of this.openQuestions()) {
            if (this.runs.get(question.run)?.folder === folder && !listed.has(question.id)) {
                this.resolve(question.id, { state: 'withdrawn', at: now, reason: 'it is no longer open' });
            }
        }
        for (const question of questions) {
            this.open(question);
        }
    }

    /** Takes a question; a late repetition never opens it again, unless its run was cut off and goes on. */
    open(question: Question): void {
        if (this.#cutOff.delete(question.id) || !this.questions.has(question.id)) {
            this.questions.set(question.id, question);
        }
    }

    resolve(id: QuestionId, state: QuestionState): void {
        const question = this.questions.get(id);
        if (question?.state.state === 'open') {
            this.questions.set(id, { ...question, state });
        }
    }

    /** Takes the next event of a run. */
    take(folder: string, runId: RunId, record: RunRecord): Taken {
        const run = this.run(runId, folder, record.at);
        if (record.seq <= run.lastSeq) {
            return 'old';
        }
        if (record.seq > run.lastSeq + 1) {
            return 'gap';
        }
        run.lastSeq = record.seq;
        run.timeline.push(describeRecord(record));
        this.reduce(run, record);
        return 'taken';
    }

    private run(runId: RunId, folder: string, startedAt: number): RunState {
        let run = this.runs.get(runId);
        if (!run) {
            run = {
                runId,
                folder,
                prompt: '',
                engine: '',
                model: '',
                status: 'queued',
                startedAt,
                usage: NO_USAGE,
                plan: [],
                cost: NO_COST,
                paused: false,
                elsewhere: false,
                findings: 0,
                found: new FindingLedger(),
                toolCalls: new Map(),
                changes: new Map(),
                timeline: [],
                lastSeq: 0,
            };
            this.runs.set(runId, run);
        }
        return run;
    }

    private interrupt(run: RunState): void {
        run.status = 'interrupted';
        delete run.waiting;
        for (const question of this.openQuestions()) {
            if (question.run === run.runId) {
                this.#cutOff.add(question.id);
                this.resolve(question.id, { state: 'withdrawn', at: question.openedAt, reason: 'the sidecar ended' });
            }
        }
    }

    private reduce(run: RunState, { at, event }: RunRecord): void {
        switch (event.type) {
            case 'runStarted':
                run.prompt = event.spec.prompt;
                run.engine = event.spec.engine;
                run.model = event.spec.model;
                run.startedAt = at;
                run.usage = NO_USAGE;
                run.cost = NO_COST;
                break;
            case 'steered':
                // What a pause holds back goes on with any word that lets it.
                run.paused = event.steer.type === 'pause' || (run.paused && event.steer.type !== 'goOn');
                break;
            case 'resumed':
                // What it does now is told by the next event; it is over no longer.
                run.status = 'queued';
                delete run.end;
                break;
            case 'statusChanged':
                run.status = event.to;
                setOrDelete(run, 'waiting', event.waiting ?? undefined);
                break;
            case 'planUpdated':
                run.plan = event.items;
                break;
            case 'modelReplied':
                run.usage = add(run.usage, event.turn.usage);
                run.cost = addCost(run.cost, event.bill.cost);
                break;
            case 'modelFailed':
                run.usage = add(run.usage, event.failure.usage);
                run.cost = addCost(run.cost, event.bill.cost);
                break;
            case 'gatesStarted':
                run.found.begin(event.round, event.why);
                break;
            case 'gatesReported':
                run.found.report(event.round, event.reports);
                break;
            case 'toolRequested':
                run.toolCalls.set(event.call, {
                    name: event.name,
                    summary: event.summary,
                    state: 'requested',
                    startedAt: at,
                });
                break;
            case 'toolStarted':
                this.toolCall(run, event.call, 'started');
                break;
            case 'toolCompleted':
                this.toolCall(run, event.call, 'completed', at);
                break;
            case 'toolFailed':
                this.toolCall(run, event.call, 'failed', at);
                break;
            case 'toolDenied':
                this.toolCall(run, event.call, 'denied', at);
                break;
            case 'changeMade': {
                const before = run.changes.get(event.path);
                run.changes.set(event.path, {
                    path: event.path,
                    added: (before?.added ?? 0) + event.added,
                    removed: (before?.removed ?? 0) + event.removed,
                });
                break;
            }
            case 'gatesJudged':
                run.findings = event.verdict.newFindings;
                break;
            case 'questionOpened':
                this.open(event.question);
                break;
            case 'questionAnswered':
                this.resolve(event.question, { state: 'answered', answer: event.answer, by: event.by, at });
                break;
            case 'questionWithdrawn':
                this.resolve(event.question, { state: 'withdrawn', reason: event.reason, at });
                break;
            case 'ended':
                run.status = event.outcome;
                delete run.waiting;
                run.end = { outcome: event.outcome, summary: event.summary };
                run.usage = event.summary.usage;
                run.cost = event.summary.cost;
                run.paused = false;
                break;
            default:
                // Of interest to the timeline only, or of a later version.
                break;
        }
    }

    private toolCall(run: RunState, call: string, state: ToolCallState, endedAt?: number): void {
        const view = run.toolCalls.get(call);
        if (view) {
            view.state = state;
            setOrDelete(view, 'endedAt', endedAt);
        }
    }
}

function add(one: Usage, other: Usage): Usage {
    return {
        input: one.input + other.input,
        output: one.output + other.output,
        cacheRead: one.cacheRead + other.cacheRead,
        cacheWrite: one.cacheWrite + other.cacheWrite,
        reasoning: one.reasoning + other.reasoning,
    };
}

function addCost(one: Cost, other: Cost): Cost {
    return { micros: one.micros + other.micros, unpricedTokens: one.unpricedTokens + other.unpricedTokens };
}

function setOrDelete<T, K extends keyof T>(object: T, key: K, value: T[K] | undefined): void {
    if (value === undefined) {
        // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- the key is an optional one of the type
        delete object[key];
    } else {
        object[key] = value;
    }
}
