// What the extension and its panel say to each other. The panel knows nothing else.

import type { FindingRow, GateRow } from './findingLedger';
import type { AnswerInput, PlanItem } from './protocol';
import type { TimelineRow } from './timelineRow';

export interface QuestionCard {
    id: string;
    runId: string;
    title: string;
    detail: string;
    kind: string;
    /** `path:line`, to be opened. */
    place?: string;
    choices: { label: string; effect: string; answer: AnswerInput }[];
    /** Label of the field for words, when the question takes any. */
    words?: string;
    /** What is called to look at its diff, or its plan, in an editor. */
    review?: string;
    openedAt: number;
}

export interface ResolvedCard {
    id: string;
    title: string;
    /** How it ended and by whom. */
    resolution: string;
}

export interface RunCard {
    runId: string;
    prompt: string;
    status: string;
    over: boolean;
    /** What it waits for, and since when in milliseconds since 1970. */
    waiting?: { text: string; since: number };
    startedAt: number;
    openQuestions: number;
    paused: boolean;
    /** Another window or a terminal works on it. */
    elsewhere: boolean;
}

export interface RunDetail extends RunCard {
    model: string;
    engine: string;
    plan: PlanItem[];
    /** The last ones; `toolCallsBefore` were made before them. */
    toolCalls: { id: string; text: string; state: string; durationMs?: number }[];
    toolCallsBefore: number;
    /** Findings that the run introduced; all rows come by themselves. */
    newFindings: number;
    findings: number;
    gates: GateRow[];
    changes: { path: string; added: number; removed: number }[];
    tokens: { input: number; output: number; cached: number };
    /** In words; empty where nothing was paid. */
    cost: string;
    resolved: ResolvedCard[];
    summary?: {
        text: string;
        verification: string;
        elapsedMs: number;
        activeMs: number;
        files: { path: string; change: string; added: number; removed: number }[];
        modelCalls: number;
        toolCalls: number;
    };
    events: number;
}

export interface PanelAction {
    label: string;
    command: PanelCommand;
}

export interface PanelState {
    /** Why no run can be started, and the command that helps; left out when one can. */
    obstacle?: { text: string; action?: PanelAction; other?: PanelAction };
    /** Each with what holds and where that comes from; the command changes it. */
    choices: { label: string; value: string; origin: string; command: PanelCommand }[];
    inbox: QuestionCard[];
    runs: RunCard[];
    selected?: RunDetail;
}

/** What the panel must not forget. */
export interface PanelMemory {
    prompt: string;
    selected?: string;
    /** What was typed and not sent, by question, or by run. */
    drafts: Record<string, string>;
}

export type ToPanel =
    /** What the panel remembered in its last life; sent once, before anything else. */
    | { type: 'memory'; memory: PanelMemory }
    | { type: 'state'; state: PanelState }
    /** Rows of a timeline, to be put at index `from`; what was there from that index on goes. */
    | { type: 'rows'; runId: string; from: number; rows: TimelineRow[] }
    /** The same of a run's findings. */
    | { type: 'findings'; runId: string; from: number; rows: FindingRow[] }
    | { type: 'detail'; runId: string; seq: number; text: string }
    /** An answer or a start failed; for people. */
    | { type: 'failed'; questionId?: string; text: string };

export const panelCommands = [
    'cancel',
    'resume',
    'pause',
    'goOn',
    'skipStep',
    'useModel',
    'revert',
    'commitMessage',
    'showChanges',
    'openTranscript',
    'chooseModel',
    'chooseEngine',
    'choosePolicy',
    'setApiKey',
    'restart',
    'showLog',
    'showTrouble',
    'installProgram',
    'openWalkthrough',
    'runDemo',
    'setPath',
    'trust',
    'openFolder',
] as const;
export type PanelCommand = (typeof panelCommands)[number];

export type FromPanel =
    | { type: 'ready'; selected?: string }
    /** VS Code keeps a panel's own memory only when it ends in good order. */
    | { type: 'remember'; memory: PanelMemory }
    | { type: 'start'; prompt: string }
    | { type: 'select'; runId: string }
    | { type: 'answer'; questionId: string; answer: AnswerInput }
    | { type: 'words'; questionId: string; words: string }
    | { type: 'review'; questionId: string }
    | { type: 'reveal'; questionId: string }
    /** A word to a run that works. */
    | { type: 'message'; runId: string; text: string }
    /** Line and column from 0. */
    | { type: 'open'; runId: string; path: string; line?: number; column?: number }
    | { type: 'detail'; runId: string; seq: number }
    | { type: 'command'; command: PanelCommand; runId?: string };
