// What the extension and its panel say to each other. The panel knows nothing else.

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
    /** Whether there is a diff to look at. */
    diff: boolean;
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
}

export interface RunDetail extends RunCard {
    model: string;
    engine: string;
    plan: PlanItem[];
    /** The last ones; `toolCallsBefore` were made before them. */
    toolCalls: { id: string; text: string; state: string; durationMs?: number }[];
    toolCallsBefore: number;
    findings: number;
    firstFindings: string[];
    changes: { path: string; added: number; removed: number }[];
    tokens: { input: number; output: number; cached: number };
    resolved: ResolvedCard[];
    summary?: { text: string; verification: string; elapsedMs: number; activeMs: number };
    events: number;
}

export interface PanelState {
    /** Why no run can be started, and the command that helps; left out when one can. */
    obstacle?: { text: string; action?: { label: string; command: PanelCommand } };
    model: string;
    commands: string;
    inbox: QuestionCard[];
    runs: RunCard[];
    selected?: RunDetail;
}

/** What the panel must not forget. */
export interface PanelMemory {
    prompt: string;
    selected?: string;
    /** What was typed and not sent, by question. */
    drafts: Record<string, string>;
}

export type ToPanel =
    /** What the panel remembered in its last life; sent once, before anything else. */
    | { type: 'memory'; memory: PanelMemory }
    | { type: 'state'; state: PanelState }
    /** Rows of a timeline, to be put at index `from`; what was there from that index on goes. */
    | { type: 'rows'; runId: string; from: number; rows: TimelineRow[] }
    | { type: 'detail'; runId: string; seq: number; text: string }
    /** An answer or a start failed; for people. */
    | { type: 'failed'; questionId?: string; text: string };

export const panelCommands = [
    'cancel',
    'resume',
    'showChanges',
    'openTranscript',
    'chooseModel',
    'chooseCommandPolicy',
    'restart',
    'showLog',
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
    | { type: 'open'; runId: string; path: string }
    | { type: 'detail'; runId: string; seq: number }
    | { type: 'command'; command: PanelCommand; runId?: string };
