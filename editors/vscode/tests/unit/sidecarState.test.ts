import assert from 'node:assert/strict';
import test from 'node:test';
import { panelState } from '../../src/panelView';
import type { RunEvent, RunView } from '../../src/protocol';
import { SidecarState } from '../../src/sidecarState';
import { statusText } from '../../src/statusText';
import { bill, blocker, cost, ended, overwrite, records, started, usage } from './samples';

const FOLDER = 'file:///w';

function after(events: RunEvent[]): SidecarState {
    const state = new SidecarState();
    for (const record of records(events)) {
        assert.equal(state.take(FOLDER, 'r1', record), 'taken');
    }
    return state;
}

const replied: RunEvent = {
    type: 'modelReplied',
    bill,
    call: 1,
    tools: [],
    turn: { blocks: [{ type: 'text', text: 'I look.' }], model: 'm', stop: 'toolUse', usage: usage(3, 2) },
};

test('events make a run', () => {
    const state = after([
        started,
        { type: 'statusChanged', from: 'queued', to: 'executing', waiting: { for: 'model', detail: 'm', since: 5 } },
        replied,
        replied,
        { type: 'toolRequested', call: 'c1', name: 'read', summary: 'é.rs' },
        { type: 'toolCompleted', call: 'c1', result: '' },
        { type: 'changeMade', change: 1, path: 'é.rs', before: 'a', after: 'b', added: 2, removed: 1 },
        { type: 'changeMade', change: 2, path: 'é.rs', before: 'b', after: 'c', added: 1, removed: 0 },
        { type: 'planUpdated', items: [{ title: 'Look', state: 'done' }] },
    ]);
    const run = state.runs.get('r1');
    assert.ok(run);
    assert.deepEqual(run.usage, usage(6, 4));
    assert.deepEqual([...run.changes.values()], [{ path: 'é.rs', added: 3, removed: 1 }]);
    assert.deepEqual(run.toolCalls.get('c1'), {
        name: 'read',
        summary: 'é.rs',
        state: 'completed',
        startedAt: 5000,
        endedAt: 6000,
    });
    assert.equal(run.timeline.length, 9);
    assert.deepEqual(run.waiting, { for: 'model', detail: 'm', since: 5 });
    assert.equal(statusText('running', state).text, '$(sync~spin) Outrigger: executing');

    assert.equal(state.take(FOLDER, 'r1', ...(records([ended], 10) as [never])), 'taken');
    assert.equal(run.status, 'succeeded');
    assert.equal(run.waiting, undefined);
    assert.deepEqual(run.usage, usage(7, 5));
    assert.equal(state.activeRuns().length, 0);
});

test('repeated and missing events are told', () => {
    const state = after([started]);
    const [first, second, third] = records([started, replied, replied]);
    assert.ok(first && second && third);
    assert.equal(state.take(FOLDER, 'r1', first), 'old');
    assert.equal(state.take(FOLDER, 'r1', third), 'gap');
    assert.equal(state.take(FOLDER, 'r1', second), 'taken');
    assert.equal(state.take(FOLDER, 'r1', third), 'taken');
    assert.deepEqual(state.runs.get('r1')?.usage, usage(6, 4));
});

const view = (runId: string): RunView => ({
    runId,
    prompt: 'from the list',
    engine: 'react',
    model: 'm',
    status: 'waiting',
    startedAt: 1,
    usage: usage(100, 100),
    cost,
    plan: [],
    findings: 0,
    openQuestions: [],
    transcript: `/state/${runId}.jsonl`,
});

test('a listed run is replayed without counting twice', () => {
    const state = new SidecarState();
    state.takeRuns(FOLDER, [view('r1')]);
    assert.deepEqual(state.runs.get('r1')?.usage, usage(100, 100));
    for (const record of records([started, replied])) {
        state.take(FOLDER, 'r1', record);
    }
    state.takeRuns(FOLDER, [view('r1')]);
    const run = state.runs.get('r1');
    assert.deepEqual([run?.usage, run?.transcript], [usage(3, 2), '/state/r1.jsonl']);
});

test('runs of a process that is gone are interrupted, and their questions with them', () => {
    const state = after([started, { type: 'questionOpened', question: blocker }]);
    state.takeRuns('file:///other', []);
    assert.equal(state.runs.get('r1')?.status, 'queued');
    state.takeRuns(FOLDER, []);
    assert.equal(state.runs.get('r1')?.status, 'interrupted');
    assert.deepEqual(state.openQuestions(), []);
    // It goes on, and asks again what it had asked.
    state.open(blocker);
    assert.deepEqual(state.openQuestions(), [blocker]);
});

test('a question is resolved once and stays so', () => {
    const state = after([started]);
    state.open(blocker);
    state.open(overwrite);
    assert.deepEqual(
        state.openQuestions().map(({ id }) => id),
        ['r1.q1', 'r1.q2'],
    );
    assert.equal(statusText('running', state).text, '$(question) Outrigger: 2 questions');
    const answered = { state: 'answered', by: 'Ada', at: 1, answer: { type: 'choice', choice: '2' } } as const;
    state.resolve('r1.q2', answered);
    state.resolve('r1.q2', { state: 'withdrawn', at: 2, reason: 'late' });
    state.open(blocker);
    assert.deepEqual(state.questions.get('r1.q2')?.state, answered);
    state.takeQuestions(FOLDER, [], 9);
    assert.deepEqual(state.openQuestions(), []);
});

test('the panel has the questions first and the chosen run whole', () => {
    const state = after([started, { type: 'questionOpened', question: blocker }]);
    const shown = panelState(state, { phase: 'running', choices: [], selected: 'r1' });
    assert.equal(shown.obstacle, undefined);
    assert.deepEqual(
        shown.inbox.map(({ id, place, words, review }) => ({ id, place, words, review })),
        [{ id: 'r1.q2', place: 'src/parse.rs:6', words: 'In your own words', review: undefined }],
    );
    assert.equal(shown.selected?.prompt, 'Say which line is wrong.\nAll of it.');
    assert.equal(shown.runs[0]?.openQuestions, 1);
    for (const phase of ['off', 'missing', 'failed', 'untrusted', 'starting'] as const) {
        const { obstacle } = panelState(state, { phase, choices: [] });
        assert.ok(obstacle, phase);
        assert.equal(obstacle.action === undefined, phase === 'starting');
    }
});

test('an event of a later version is a row and nothing else', () => {
    const state = after([started, { type: 'somethingNew' } as never]);
    assert.equal(state.runs.get('r1')?.timeline.at(-1)?.text, 'somethingNew');
});
