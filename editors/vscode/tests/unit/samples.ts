// Questions and events as the protocol page shows them.

import type { Bill, Cost, Question, Record as RunRecord, RunEvent, Usage } from '../../src/protocol';

const place = {
    path: 'src/parse.rs',
    range: {
        start: { line: 5, utf8: 0, utf16: 0, utf32: 0 },
        end: { line: 6, utf8: 0, utf16: 0, utf32: 0 },
    },
};

export const blocker: Question = {
    id: 'r1.q2',
    run: 'r1',
    title: 'Shall lines count from 0 or from 1?',
    detail: '',
    place,
    kind: { kind: 'blocker', reason: 'asked' },
    choices: [
        { id: '1', label: 'From 0', effect: 'the agent goes on' },
        { id: '2', label: 'From 1', effect: 'the agent goes on' },
    ],
    freeText: true,
    openedAt: 20,
    state: { state: 'open' },
};

export const overwrite: Question = {
    id: 'r1.q1',
    run: 'r1',
    title: 'Overwrite src/parse.rs?',
    detail: 'diff --git',
    place,
    kind: {
        kind: 'overwrite',
        call: 'c3',
        path: 'src/parse.rs',
        reason: 'unsavedText',
        base: 'b',
        current: 'c',
        proposed: 'p',
        unsaved: true,
        hunks: [],
    },
    choices: [{ id: 'takeAll', label: 'Take the agent’s version', effect: 'it is written' }],
    freeText: false,
    openedAt: 10,
    state: { state: 'open' },
};

export const command: Question = {
    id: 'r1.q3',
    run: 'r1',
    title: 'Run `cargo fmt`?',
    detail: '',
    kind: { kind: 'command', command: 'cargo fmt', cwd: null },
    choices: [{ id: 'allow', label: 'Run it', effect: 'this command runs once' }],
    freeText: true,
    openedAt: 30,
    state: { state: 'open' },
};

export const cost: Cost = { micros: 0, unpricedTokens: 0 };

export const bill: Bill = { cost, spending: { dayMicros: 0, taskMicros: 0 } };

export const usage = (input: number, output: number): Usage => ({
    input,
    output,
    cacheRead: 0,
    cacheWrite: 0,
    reasoning: 0,
});

/** Events as records, numbered from 1 and a second apart. */
export function records(events: RunEvent[], firstSeq = 1): RunRecord[] {
    return events.map((event, index) => ({
        seq: firstSeq + index,
        at: 1000 * (firstSeq + index),
        mono: 0,
        kind: 'message',
        v: 1,
        event,
    }));
}

export const started: RunEvent = {
    type: 'runStarted',
    spec: {
        prompt: 'Say which line is wrong.\nAll of it.',
        engine: 'react',
        model: 'scripted:demo',
        policy: { conflict: 'ask', merge: 'auto', commands: 'ask', review: 'never' },
        budget: { activeS: 1, tokens: 1, iterations: 1 },
        stall: { timeoutS: 300, action: 'retry' },
    },
};

export const ended: RunEvent = {
    type: 'ended',
    outcome: 'succeeded',
    summary: {
        text: 'Done.',
        files: [],
        verification: 'passed',
        usage: usage(7, 5),
        cost,
        activeMs: 1,
        elapsedMs: 2,
        modelCalls: 1,
        toolCalls: 1,
    },
};
