// What the panel shows, from what is known. Pure.

import { offeredAnswers, resolutionText, takesWords } from './answers';
import type { PanelState, QuestionCard, RunCard, RunDetail } from './panelMessages';
import type { Question } from './protocol';
import { costText } from './money';
import { isOver, type RunState, type SidecarState } from './sidecarState';
import type { ServerPhase } from './statusText';

const SHOWN_TOOL_CALLS = 50;

export interface PanelContext {
    phase: ServerPhase;
    choices: PanelState['choices'];
    /** Run whose details are shown. */
    selected?: string;
}

export function panelState(state: SidecarState, context: PanelContext): PanelState {
    const selected = context.selected === undefined ? undefined : state.runs.get(context.selected);
    const hindrance = obstacle(context.phase);
    return {
        ...(hindrance ? { obstacle: hindrance } : {}),
        choices: context.choices,
        inbox: state.openQuestions().map(questionCard),
        runs: state.runsByAge().map((run) => runCard(state, run)),
        ...(selected ? { selected: runDetail(state, selected) } : {}),
    };
}

function obstacle(phase: ServerPhase): PanelState['obstacle'] {
    switch (phase) {
        case 'running':
            return undefined;
        case 'starting':
            return { text: 'The sidecar starts.' };
        case 'off':
            return {
                text: 'Open a folder to start runs in it.',
                action: { label: 'Open a folder', command: 'openFolder' },
            };
        case 'untrusted':
            return {
                text: 'Outrigger reads this folder’s files and runs its tools, so it is off until you trust the folder.',
                action: { label: 'Manage trust', command: 'trust' },
            };
        case 'missing':
            return {
                text: 'The outrigger program was not found. Install it, or say where it is.',
                action: { label: 'Install it…', command: 'installProgram' },
                other: { label: 'Choose the program…', command: 'setPath' },
            };
        case 'failed':
            return {
                text: 'The sidecar ended several times and was not started again.',
                action: { label: 'Start it again', command: 'restart' },
                other: { label: 'See what happened', command: 'showTrouble' },
            };
    }
}

export function questionCard(question: Question): QuestionCard {
    const { kind } = question.kind;
    const overwrite = kind === 'overwrite';
    const review = overwrite ? 'Review the change' : kind === 'plan' ? 'Review the plan' : undefined;
    const place = question.place;
    return {
        id: question.id,
        runId: question.run,
        title: question.title,
        // The diff itself is one button away and shows more.
        detail: overwrite ? '' : question.detail,
        kind,
        ...(place ? { place: `${place.path}:${place.range.start.line + 1}` } : {}),
        choices: offeredAnswers(question),
        ...(takesWords(question) ? { words: overwrite ? 'Keep mine, because …' : 'In your own words' } : {}),
        ...(review === undefined ? {} : { review }),
        openedAt: question.openedAt,
    };
}

function runCard(state: SidecarState, run: RunState): RunCard {
    const open = state.openQuestions().filter((question) => question.run === run.runId).length;
    return {
        runId: run.runId,
        prompt: run.prompt,
        status: run.status,
        over: isOver(run),
        ...(run.waiting ? { waiting: { text: waitingText(run.waiting), since: run.waiting.since } } : {}),
        startedAt: run.startedAt,
        openQuestions: open,
        paused: run.paused,
        elsewhere: run.elsewhere,
    };
}

const WAITS_FOR: Record<string, string> = {
    model: 'the model',
    tool: 'a tool',
    file: 'a file',
    gate: 'a check',
    you: 'you',
    rateLimit: 'the rate limit',
    retry: 'another attempt',
    lease: 'a file that somebody else works on',
    stop: 'everything to stop',
};

function waitingText(waiting: NonNullable<RunState['waiting']>): string {
    const what = WAITS_FOR[waiting.for] ?? waiting.for;
    return waiting.detail === '' ? what : `${what}: ${waiting.detail}`;
}

function runDetail(state: SidecarState, run: RunState): RunDetail {
    const calls = [...run.toolCalls];
    const summary = run.end?.summary;
    return {
        ...runCard(state, run),
        model: run.model,
        engine: run.engine,
        plan: run.plan,
        toolCalls: calls.slice(-SHOWN_TOOL_CALLS).map(([id, call]) => ({
            id,
            text: `${call.name} ${call.summary}`.trim(),
            state: call.state,
            ...(call.endedAt === undefined ? {} : { durationMs: call.endedAt - call.startedAt }),
        })),
        toolCallsBefore: Math.max(0, calls.length - SHOWN_TOOL_CALLS),
        newFindings: run.findings,
        findings: run.found.rows().length,
        gates: run.found.gates(),
        changes: [...run.changes.values()],
        tokens: { input: run.usage.input, output: run.usage.output, cached: run.usage.cacheRead },
        cost: costText(run.cost),
        resolved: [...state.questions.values()].flatMap((question) => {
            const resolution = question.run === run.runId ? resolutionText(question) : undefined;
            return resolution === undefined ? [] : [{ id: question.id, title: question.title, resolution }];
        }),
        ...(summary
            ? {
                  summary: {
                      text: summary.text,
                      verification: summary.verification,
                      elapsedMs: summary.elapsedMs,
                      activeMs: summary.activeMs,
                      files: summary.files.map(({ path, change, added, removed }) => ({
                          path,
                          change,
                          added,
                          removed,
                      })),
                      modelCalls: summary.modelCalls,
                      toolCalls: summary.toolCalls,
                  },
              }
            : {}),
        events: run.timeline.length,
    };
}
