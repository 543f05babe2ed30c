import assert from 'node:assert/strict';
import test from 'node:test';
import { commitMessage } from '../../src/commitMessage';
import { FindingLedger } from '../../src/findingLedger';
import { offeredModels, stateText } from '../../src/models';
import { costText } from '../../src/money';
import type { ChangedFile, Finding, GateReport, RunRevertResult } from '../../src/protocol';
import { changedPath, encodedUri, readChangedPath, readGatePath } from '../../src/questionUri';
import { offeredReverts, previewText, revertedText } from '../../src/revertWords';
import { SidecarState } from '../../src/sidecarState';
import { statusText } from '../../src/statusText';
import { notificationProgram } from '../../src/systemNotification';
import { escapeHtml, troublePage } from '../../src/troublePage';
import { bill, ended, records, started, usage } from './samples';

const at = (line: number) => ({ line, utf8: 0, utf16: 2, utf32: 0 });

function finding(message: string, line: number, path = 'src/é.rs'): Finding {
    return {
        gate: 'cargo-check',
        code: 'E1',
        href: null,
        message,
        severity: 'error',
        source: 'cargo',
        place: {
            bytes: [0, 1],
            file: { in: 'workspace', path },
            hash: null,
            kind: 'exact',
            lineText: '',
            range: { start: at(line), end: at(line) },
        },
    };
}

function report(outcome: GateReport['outcome'], findings: Finding[]): GateReport {
    const rest = { notes: [], command: [], durationMs: 1, partial: false };
    return { gate: 'cargo-check', outcome, findings, ...rest };
}

test('what the run brought about comes first, and a gate that did not run keeps what it found', () => {
    const found = new FindingLedger();
    found.begin(1, 'baseline');
    found.report(1, [report('fail', [finding('line 3 is bad', 3)])]);
    assert.deepEqual(
        found.rows().map(({ isNew }) => isNew),
        [false],
    );
    found.begin(2, 'change');
    found.report(2, [report('fail', [finding('line 9 is bad', 9), finding('line 9 is bad', 12), finding('new', 1)])]);
    const rows = found.rows().map(({ text, isNew }) => [text, isNew]);
    assert.deepEqual(rows, [
        ['src/é.rs:13 cargo E1: line 9 is bad', true],
        ['src/é.rs:2 cargo E1: new', true],
        ['src/é.rs:10 cargo E1: line 9 is bad', false],
    ]);
    assert.deepEqual(found.rows()[1]?.place, { path: 'src/é.rs', line: 1, column: 2 });
    const version = found.version;
    found.report(3, [report('error', [])]);
    assert.equal(found.rows().length, 3);
    assert.ok(found.version > version);
    assert.deepEqual(found.gates(), [{ gate: 'cargo-check', outcome: 'error', findings: 3, notes: [] }]);
    found.report(4, [report('pass', [])]);
    assert.deepEqual(found.rows(), []);
});

test('ten thousand findings are rows in little time', () => {
    const found = new FindingLedger();
    found.report(1, [
        report(
            'fail',
            Array.from({ length: 12_000 }, (_, line) => finding(`problem ${line}`, line)),
        ),
    ]);
    const began = performance.now();
    assert.equal(found.rows().length, 10_000);
    assert.ok(performance.now() - began < 1000);
});

test('costs, pauses and words to a run are known', () => {
    const state = new SidecarState();
    const turn = { blocks: [], stop: 'end', usage: usage(3, 4), model: 'm', requestId: null } as never;
    const paid = { ...bill, cost: { micros: 4527, unpricedTokens: 7 } };
    const events = records([
        started,
        { type: 'modelReplied', call: 1, turn, tools: [], bill: paid },
        { type: 'steered', steer: { type: 'pause' }, by: 'Ada' },
        { type: 'steered', steer: { type: 'message', text: 'x' }, by: 'Ada' },
    ]);
    for (const record of events) {
        state.take('file:///w', 'r1', record);
    }
    const run = state.runs.get('r1');
    assert.deepEqual([run?.cost, run?.paused], [paid.cost, true]);
    assert.equal(statusText('running', state).text, '$(debug-pause) Outrigger: paused · $0.0045');
    for (const record of records([{ type: 'steered', steer: { type: 'goOn' }, by: 'Ada' }, ended], 5)) {
        state.take('file:///w', 'r1', record);
    }
    assert.deepEqual([run?.paused, run?.end?.outcome], [false, 'succeeded']);
});

test('costs are told in dollars and tokens', () => {
    const rows: [number, number, string][] = [
        [0, 0, ''],
        [4527, 0, '$0.0045'],
        [1_840_000, 0, '$1.84'],
        [0, 12, '12 tokens of unknown price'],
        [100_000, 5, '$0.10 and 5 tokens of unknown price'],
    ];
    for (const [micros, unpricedTokens, text] of rows) {
        assert.equal(costText({ micros, unpricedTokens }), text);
    }
});

const changed = (path: string, step: string, hunks: number): ChangedFile => ({
    path,
    kind: 'edited',
    before: 'a',
    after: 'b',
    patch: `diff ${path}\n`,
    hunks: Array.from({ length: hunks }, (_, id) => ({
        id,
        oldStart: 10 * id,
        oldLines: 1,
        newStart: 10 * id,
        newLines: 2,
        removed: ['old\n'],
        added: ['  new\n'],
    })),
    changes: [{ change: 1, step, reason: `because ${step}`, at: 1, before: 'a', after: 'b' }],
});

test('a run can be reverted as a whole, by step, by file, by hunk', () => {
    const offers = offeredReverts({ runId: 'r', files: [changed('é.txt', 'c1', 2), changed('b.txt', 'c2', 1)] });
    assert.deepEqual(
        offers.map(({ label, part }) => [label, part]),
        [
            ['All that the run did', {}],
            ['Step c1', { step: 'c1' }],
            ['Step c2', { step: 'c2' }],
            ['é.txt', { paths: ['é.txt'] }],
            ['b.txt', { paths: ['b.txt'] }],
            ['é.txt, lines 1 to 2', { paths: ['é.txt'], hunks: [0] }],
            ['é.txt, lines 11 to 12', { paths: ['é.txt'], hunks: [1] }],
        ],
    );
    assert.deepEqual(offeredReverts({ runId: 'r', files: [] }), []);
    assert.equal(offeredReverts({ runId: 'r', files: [changed('a', 'c1', 1)] }).length, 1);
});

test('a revert says what becomes of each file', () => {
    const result: RunRevertResult = {
        runId: 'r',
        files: [
            { path: 'a', outcome: 'merged', patch: 'diff a\n' },
            { path: 'b', outcome: 'left', reason: 'it was edited', patch: '' },
        ],
    };
    assert.equal(
        revertedText(result, 'done'),
        'a is without what the run did; your edits stay\nb was left as it is: it was edited',
    );
    assert.ok(previewText(result).startsWith('# a loses what the run did; your edits stay\ndiff a\n'));
});

test('a commit message has a subject that fits and says what was done', () => {
    const run = (prompt: string) => ({ prompt, end: ended.type === 'ended' ? { ...ended } : undefined }) as never;
    assert.equal(commitMessage(run('\nrename Orbit to Órbita.\nmore')), 'Rename Orbit to Órbita\n\nDone.');
    const [subject] = commitMessage(run('word '.repeat(40))).split('\n');
    assert.ok(subject && subject.length <= 72 && subject.endsWith('word…'), subject);
});

test('models of usable providers come first', () => {
    const model = (name: string) => ({ name, contextWindow: 200_000, isPriced: false });
    const offers = offeredModels(
        {
            choice: { model: 'local/b', because: 'it answers' },
            pricesOf: '2026-01-01',
            providers: [
                { provider: 'far', state: { type: 'missing', set: ['FAR_KEY'] }, models: [model('far/a')] },
                { provider: 'local', state: { type: 'reachable' }, models: [model('local/b')] },
            ],
        },
        'local/b',
    );
    assert.deepEqual(
        offers.map(({ model, description }) => [model, description]),
        [
            ['local/b', 'now · it answers · on this machine · 200 k tokens · its price is not known'],
            ['far/a', 'needs a key · 200 k tokens · its price is not known'],
        ],
    );
    assert.equal(stateText({ type: 'unusable', why: 'no address' }), 'no address');
});

test('documents of the sidecar have names', () => {
    const path = changedPath('r1', 'before', 'src/é #1.rs');
    assert.equal(readChangedPath(path), 'r1');
    assert.equal(readChangedPath('/run/r1/then/x'), undefined);
    assert.equal(encodedUri(path), 'outrigger:/run/r1/before/src/%C3%A9%20%231.rs');
    assert.equal(readGatePath('/gate/ruff'), 'ruff');
});

test('a text is never a part of a command line', () => {
    const text = '"; rm -rf / $(x) -e';
    for (const platform of ['linux', 'darwin'] as const) {
        const program = notificationProgram(platform, '-title', text);
        assert.ok(program && program.arguments.at(-1) === text && program.arguments.includes('-title'));
    }
    assert.equal(notificationProgram('win32', 'a', 'b'), undefined);
});

test('the page about a sidecar that ends shows everything as text', () => {
    const html = troublePage({ programs: ['w: /bin/<b>'], ends: ['<script>'], log: '</pre>&' }, "x'y");
    assert.ok(!html.includes('<script>') && html.includes('&#60;script&#62;') && html.includes('&#60;/pre&#62;&#38;'));
    assert.ok(html.includes("default-src 'none'") && html.includes('command:outrigger.restart'));
    assert.equal(escapeHtml(`'"`), '&#39;&#34;');
});
