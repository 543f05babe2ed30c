import assert from 'node:assert/strict';
import test from 'node:test';
import {
    answerFromText,
    answerInWords,
    hunkPlaces,
    offeredAnswers,
    resolutionText,
    takesWords,
    withHunks,
    withOtherSide,
} from '../../src/answers';
import type { Hunk } from '../../src/protocol';
import { blocker, command, overwrite } from './samples';

const hunk = (id: number, oldStart: number, removed: string[], newStart: number, added: string[]): Hunk => ({
    id,
    oldStart,
    oldLines: removed.length,
    newStart,
    newLines: added.length,
    removed,
    added,
});

const current = 'één\nzwei\nthree\n四\nfive\n';
const proposed = 'één\ntwo\nthree\n四\n4½\nfive';
const hunks = [hunk(0, 1, ['zwei\n'], 1, ['two\n']), hunk(1, 4, ['five\n'], 4, ['4½\n', 'five'])];
const texts = { current, proposed, hunks };

test('hunks are taken one by one', () => {
    assert.equal(withHunks(current, hunks, new Set()), current);
    assert.equal(withHunks(current, hunks, new Set([0, 1])), proposed);
    assert.equal(withHunks(current, hunks, new Set([0])), 'één\ntwo\nthree\n四\nfive\n');
    assert.equal(withHunks('', [hunk(0, 0, [], 0, ['new\n'])], new Set([0])), 'new\n');
});

test('the text that is accepted says what was taken', () => {
    const rows: [string, unknown][] = [
        [proposed, { type: 'takeAll' }],
        [current, { type: 'keepMine' }],
        [withHunks(current, hunks, new Set([0])), { type: 'takeHunks', hunks: [0] }],
        [withHunks(current, hunks, new Set([1])), { type: 'takeHunks', hunks: [1] }],
        // An editor has made the line endings its own.
        [proposed.replaceAll('\n', '\r\n'), { type: 'takeAll' }],
        [withHunks(current, hunks, new Set([0])).replaceAll('\n', '\r\n'), { type: 'takeHunks', hunks: [0] }],
        ['één\nmy own\n', { type: 'takeText', text: 'één\nmy own\n' }],
        ['', { type: 'takeText', text: '' }],
    ];
    for (const [text, answer] of rows) {
        assert.deepEqual(answerFromText(texts, text), answer, JSON.stringify(text));
    }
});

test('hunks that begin alike are told apart', () => {
    const same = [hunk(0, 0, ['a\n'], 0, ['a\n', 'a\n']), hunk(1, 1, ['b\n'], 2, ['a\n', 'b\n'])];
    const sides = { current: 'a\nb\n', proposed: 'a\na\na\nb\n', hunks: same };
    // One more `a` may come from either; what counts is the text.
    const answer = answerFromText(sides, 'a\na\nb\n');
    assert.equal(answer.type, 'takeHunks');
    assert.equal(withHunks(sides.current, same, new Set(answer.hunks)), 'a\na\nb\n');
});

test('many hunks of equal lines take no time', () => {
    const many = Array.from({ length: 400 }, (_, id) => hunk(id, id, ['x\n'], id, ['x\n', 'x\n']));
    const sides = { current: 'x\n'.repeat(400), proposed: 'x\n'.repeat(800), hunks: many };
    assert.equal(answerFromText(sides, `${'x\n'.repeat(600)}y\n`).type, 'takeText');
    assert.equal(answerFromText(sides, 'x\n'.repeat(600)).type, 'takeHunks');
});

test('a side is put in for the other and back', () => {
    const places = hunkPlaces(texts, proposed);
    assert.deepEqual(
        places.map(({ hunk: { id }, holds, line, lines }) => [id, holds, line, lines]),
        [
            [0, 'agent', 1, 1],
            [1, 'agent', 4, 2],
        ],
    );
    const [, second] = places;
    assert.ok(second);
    const without = withOtherSide(texts, places, second);
    assert.equal(without, withHunks(current, hunks, new Set([0])));
    const again = hunkPlaces(texts, without);
    assert.deepEqual(
        again.map(({ holds }) => holds),
        ['agent', 'user'],
    );
    const [, back] = again;
    assert.ok(back);
    assert.equal(withOtherSide(texts, again, back), proposed);
    assert.deepEqual(hunkPlaces(texts, 'something else\n'), []);
});

test('words are a choice, a reason or free text', () => {
    assert.deepEqual(answerInWords(blocker, ' from 1 '), { type: 'choice', choice: '2' });
    assert.deepEqual(answerInWords(blocker, '1'), { type: 'choice', choice: '1' });
    assert.deepEqual(answerInWords(blocker, 'ab Zeile 1'), { type: 'text', text: 'ab Zeile 1' });
    assert.deepEqual(answerInWords(overwrite, 'I am at it'), { type: 'keepMine', reason: 'I am at it' });
    assert.equal(answerInWords(blocker, ' \n'), undefined);
    assert.equal(answerInWords({ ...command, freeText: false }, 'perhaps'), undefined);
    assert.deepEqual([blocker, overwrite, { ...command, freeText: false }].map(takesWords), [true, true, false]);
});

test('offers keep the order and say what they do', () => {
    assert.deepEqual(offeredAnswers(blocker)[1], {
        label: 'From 1',
        effect: 'the agent goes on',
        answer: { type: 'choice', choice: '2' },
    });
});

test('a resolution says what and who', () => {
    const by = { state: 'answered', by: 'Ada', at: 1 } as const;
    const rows = [
        [blocker, { state: 'open' }, undefined],
        [blocker, { ...by, answer: { type: 'choice', choice: '2' } }, 'From 1 – Ada'],
        [blocker, { ...by, answer: { type: 'text', text: 'from −1' } }, 'from −1 – Ada'],
        [overwrite, { ...by, answer: { type: 'takeHunks', hunks: [0] } }, 'Took 1 change – Ada'],
        [overwrite, { ...by, answer: { type: 'keepMine', reason: 'mine' } }, 'Kept their own: mine – Ada'],
        [overwrite, { state: 'withdrawn', at: 1, reason: 'the run was stopped' }, 'Withdrawn: the run was stopped'],
    ] as const;
    for (const [question, state, text] of rows) {
        assert.equal(resolutionText({ ...question, state: structuredClone(state) as never }), text);
    }
});
