import assert from 'node:assert/strict';
import test from 'node:test';
import { expandMentions } from '../../src/mentions';
import { notificationText } from '../../src/notificationText';
import { commandLink, escapeMarkdown, questionMarkdown } from '../../src/questionMarkdown';
import { readSidePath, serverUri, sidePath } from '../../src/questionUri';
import { explicitSettings } from '../../src/settings';
import { findTodos } from '../../src/todo';
import { offeredAnswers } from '../../src/answers';
import { blocker, overwrite } from './samples';

test('mentions stand for what is in front of the user', () => {
    const context = {
        file: 'src/é.rs',
        selection: { text: 'a ```b\n', first: 3, last: 4 },
        problems: ['src/é.rs:1:1: error: x'],
    };
    const rows: [string, string][] = [
        ['look at @file', 'look at src/é.rs'],
        ['mail a@file.org', 'mail a@file.org'],
        ['@nothing', '@nothing'],
        [
            'do @selection and @selection',
            'do lines 3 to 4 of src/é.rs and lines 3 to 4 of src/é.rs\n\n' +
                'Selected in src/é.rs, lines 3 to 4:\n````\na ```b\n````',
        ],
        ['fix @problems', 'fix the problems of src/é.rs\n\nProblems of src/é.rs:\nsrc/é.rs:1:1: error: x'],
    ];
    for (const [prompt, expanded] of rows) {
        assert.equal(expandMentions(prompt, context), expanded);
    }
    assert.equal(expandMentions('@file @selection @problems', { problems: [] }), '@file @selection @problems');
});

test('comments that say what is to be done are found', () => {
    const text = [
        '// TODO: einmal über alles',
        '    # FIXME(ada) later',
        '/* TODO tidy up */',
        'let TODO = 1;',
        '-- todo: not written as a mark',
        '<!-- TODO: a page -->',
        ' * TODO',
        `// TODO ${'x'.repeat(2000)}`,
    ].join('\r\n');
    assert.deepEqual(findTodos(text), [
        { line: 0, text: 'einmal über alles' },
        { line: 1, text: 'later' },
        { line: 2, text: 'tidy up' },
        { line: 5, text: 'a page' },
        { line: 6, text: '' },
    ]);
    assert.equal(findTodos('// TODO\n'.repeat(10), 3).length, 3);
});

test('what the agent writes is never a link that runs a command', () => {
    const evil = '[free](command:workbench.action.quit) <b> `x` https://e.x';
    const question = { ...blocker, title: evil, detail: '```\n[x](command:y)' };
    const text = notificationText(question, offeredAnswers(question));
    assert.ok(!/\]\(command:workbench/.test(text), text);
    assert.match(text, /\[From 0\]\(command:outrigger\.answer\?[^)\s]+\)/);
    const markdown = questionMarkdown(question, offeredAnswers(question));
    assert.ok(markdown.startsWith(`**${escapeMarkdown(evil)}**`));
    assert.ok(markdown.includes('````\n```\n[x](command:y)\n````'), markdown);
    assert.equal(escapeMarkdown('a\n[b](c)'), 'a \\[b\\]\\(c\\)');
});

test('a link carries its argument through brackets and quotes', () => {
    const argument = { questionId: "r.q1 (')", answer: { type: 'text', text: 'é) ]' } };
    const link = commandLink('outrigger.answer', argument);
    assert.ok(!/[()\s]/.test(link));
    assert.deepEqual(JSON.parse(decodeURIComponent(link.split('?')[1] ?? '')), [argument]);
    assert.match(notificationText(overwrite, []), /\[Review the change\]\(command:outrigger\.review/);
});

test('documents of a question are named both ways', () => {
    const path = sidePath('r1.q1', 'proposed', 'src/ü b.rs');
    assert.deepEqual(readSidePath(path), { question: 'r1.q1', side: 'proposed', file: 'src/ü b.rs' });
    assert.equal(serverUri('r1.q1', 'base'), 'outrigger:/question/r1.q1/base');
    assert.equal(readSidePath('/else/where'), undefined);
});

test('only what the user has set is sent, in the sidecar’s own shape', () => {
    const set: Record<string, object> = {
        'policy.commands': { globalValue: 'allow', workspaceFolderValue: 'deny' },
        'budget.tokens': { workspaceValue: 7 },
        'budget.activeS': { defaultValue: 900 },
        model: { workspaceValue: '', globalValue: 'a/b' },
        'runs.keep': { globalValue: null },
    };
    assert.deepEqual(explicitSettings({ inspect: (name) => set[name] }), {
        policy: { commands: 'deny' },
        budget: { tokens: 7 },
    });
    assert.deepEqual(explicitSettings({ inspect: () => undefined }), {});
});
