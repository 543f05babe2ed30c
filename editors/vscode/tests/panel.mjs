// The panel's page alone, in Chromium: how fast it is with more than anybody has, and whether everybody can use it.
// node tests/panel.mjs SHOTS

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { openBrowser } from './harness.mjs';

const shots = process.argv[2];
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const EVENTS = 100_000;
const LONGEST_TASK_MS = 100;
const FIRST_PAINT_MS = 300;

/** Colours as VS Code's own themes have them. */
const themes = {
    dark: {
        '--vscode-foreground': '#cccccc',
        '--vscode-sideBar-background': '#181818',
        '--vscode-descriptionForeground': '#9d9d9d',
        '--vscode-button-background': '#0078d4',
        '--vscode-button-foreground': '#ffffff',
        '--vscode-button-secondaryBackground': '#313131',
        '--vscode-button-secondaryForeground': '#cccccc',
        '--vscode-textLink-foreground': '#4daafc',
        '--vscode-input-background': '#313131',
        '--vscode-input-foreground': '#cccccc',
        '--vscode-input-placeholderForeground': '#989898',
        '--vscode-focusBorder': '#0078d4',
        '--vscode-errorForeground': '#f85149',
        '--vscode-textCodeBlock-background': '#2b2b2b',
        '--vscode-list-inactiveSelectionBackground': '#37373d',
        '--vscode-sideBarSectionHeader-background': '#181818',
    },
    contrast: {
        '--vscode-foreground': '#ffffff',
        '--vscode-sideBar-background': '#000000',
        '--vscode-descriptionForeground': '#ffffff',
        '--vscode-contrastBorder': '#6fc3df',
        '--vscode-contrastActiveBorder': '#f38518',
        '--vscode-button-foreground': '#ffffff',
        '--vscode-button-secondaryForeground': '#ffffff',
        '--vscode-textLink-foreground': '#21a6ff',
        '--vscode-input-background': '#000000',
        '--vscode-input-foreground': '#ffffff',
        '--vscode-input-placeholderForeground': '#b3b3b3',
        '--vscode-focusBorder': '#f38518',
        '--vscode-errorForeground': '#f48771',
    },
};

const run = (changes = {}) => ({
    runId: 'r1',
    prompt: 'Make the error of parse() say which line is wrong.',
    status: 'waiting',
    over: false,
    waiting: { text: 'you: overwrite src/parse.rs?', since: Date.now() - 61_000 },
    startedAt: 0,
    openQuestions: 2,
    paused: false,
    elsewhere: false,
    ...changes,
});
const FINDINGS = 10_000;
const state = (changes = {}) => ({
    choices: [
        { label: 'Model', value: 'scripted:demo', origin: 'editor settings', command: 'chooseModel' },
        { label: 'Engine', value: 'react', origin: 'default', command: 'chooseEngine' },
        { label: 'Commands', value: 'ask', origin: 'outrigger.toml:3', command: 'choosePolicy' },
    ],
    inbox: [
        {
            id: 'r1.q1',
            runId: 'r1',
            title: 'Overwrite src/parse.rs? it has unsaved changes in your editor',
            detail: '',
            kind: 'overwrite',
            place: 'src/parse.rs:4',
            choices: [
                {
                    label: 'Keep mine',
                    effect: 'the file stays as it is',
                    answer: { type: 'choice', choice: 'keepMine' },
                },
            ],
            words: 'Keep mine, because …',
            review: 'Review the change',
            openedAt: 1,
        },
        {
            id: 'r1.q2',
            runId: 'r1',
            title: 'Shall lines count from 0 or from 1? <b>漢</b>',
            detail: 'Both are used:\n  src/a.rs\n  src/b.rs',
            kind: 'blocker',
            choices: [{ label: 'From 0', effect: 'the agent goes on', answer: { type: 'choice', choice: '1' } }],
            words: 'In your own words',
            openedAt: 2,
        },
    ],
    runs: [
        run(),
        run({ runId: 'r0', prompt: 'Rename Orbit to Órbita.', status: 'succeeded', over: true, openQuestions: 0 }),
    ],
    selected: {
        ...run(),
        model: 'scripted:demo',
        engine: 'react',
        plan: [
            { title: 'Find where the error is made', state: 'done' },
            { title: 'Carry the line number', state: 'in_progress' },
        ],
        toolCalls: [{ id: 'c1', text: 'read src/parse.rs', state: 'completed', durationMs: 12 }],
        toolCallsBefore: 3,
        newFindings: 1,
        findings: FINDINGS,
        gates: [
            { gate: 'cargo-check', outcome: 'fail', findings: FINDINGS, notes: [] },
            { gate: 'ruff', outcome: 'missing', findings: 0, notes: ['it is not on PATH'] },
        ],
        changes: [{ path: 'src/parse.rs', added: 6, removed: 2 }],
        tokens: { input: 5120, output: 803, cached: 4096 },
        cost: '$0.0045',
        resolved: [],
        events: EVENTS,
    },
    ...changes,
});

const { browser, page } = await openBrowser();
let failed = 0;
async function test(name, act) {
    const began = Date.now();
    try {
        await act();
        console.log(`ok   ${name} (${Date.now() - began} ms)`);
    } catch (error) {
        failed += 1;
        console.log(`FAIL ${name}\n${error.stack}`);
    }
}

async function open(theme, remembered = null) {
    const colours = Object.entries(theme).map(([name, value]) => `${name}: ${value};`);
    await page.setViewportSize({ width: 420, height: 1100 });
    await page.goto('about:blank');
    await page.setContent(`<!doctype html><html lang="en"><head><title>Outrigger</title>
        <style>:root { ${colours.join(' ')} --vscode-font-family: sans-serif; --vscode-font-size: 13px; }
        body { background: var(--vscode-sideBar-background); }</style>
        <style>${readFileSync('media/panel.css', 'utf8')}</style></head><body><main id="panel"></main></body></html>`);
    await page.evaluate((remembered) => {
        window.sent = [];
        window.remembered = remembered;
        window.tasks = [];
        window.acquireVsCodeApi = () => ({
            postMessage: (message) => window.sent.push(structuredClone(message)),
            getState: () => window.remembered,
            setState: (state) => (window.remembered = structuredClone(state)),
        });
        new PerformanceObserver((list) => {
            window.tasks.push(...list.getEntries().map((entry) => entry.duration));
        }).observe({ type: 'longtask' });
    }, remembered);
    await page.addScriptTag({ content: readFileSync('dist/panel.js', 'utf8') });
}
const post = (message) => page.evaluate((message) => window.postMessage(message, '*'), message);
const sent = () => page.evaluate(() => window.sent);

await test('it is painted at once', async () => {
    await open(themes.dark);
    const took = await page.evaluate(
        (state) =>
            new Promise((resolve) => {
                const began = performance.now();
                window.postMessage({ type: 'state', state }, '*');
                window.addEventListener('message', () =>
                    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began))),
                );
            }),
        state(),
    );
    console.log(`# first paint after ${took.toFixed(0)} ms`);
    assert.ok(took < FIRST_PAINT_MS);
    assert.equal(
        await page.getByTestId('question-r1.q2').locator('h3').textContent(),
        'Shall lines count from 0 or from 1? <b>漢</b>',
    );
    await page.screenshot({ path: `${shots}/panel-dark.png` });
});

await test('100,000 events and no task that a person would notice', async () => {
    await page.evaluate((total) => {
        for (let from = 0; from < total; from += 2000) {
            const rows = Array.from({ length: 2000 }, (_, index) => ({
                seq: from + index + 1,
                at: from + index,
                tone: 'plain',
                text: `event ${from + index + 1} ${'é'.repeat(60)}`,
            }));
            window.postMessage({ type: 'rows', runId: 'r1', from, rows }, '*');
        }
    }, EVENTS);
    const timeline = page.getByTestId('timeline');
    await timeline.getByText(`event ${EVENTS} `).waitFor();
    // The making of the messages above is the test's own work.
    await page.evaluate(() => (window.tasks.length = 0));
    await page.evaluate(async () => {
        const list = document.querySelector('[data-testid=timeline]');
        for (let part = 0; part <= 100; part += 1) {
            list.scrollTop = (list.scrollHeight * part) / 100;
            await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
        }
    });
    for (let count = 0; count < 20; count += 1) {
        await post({ type: 'state', state: state() });
        const row = { seq: EVENTS + count + 1, at: 1, tone: 'bad', text: `late ${count}` };
        await post({ type: 'rows', runId: 'r1', from: EVENTS + count, rows: [row] });
    }
    await timeline.getByText('late 19').waitFor();
    const rows = await timeline.locator('.row').count();
    const tasks = await page.evaluate(() => window.tasks);
    console.log(`# ${rows} rows on the page, longest task ${Math.max(0, ...tasks).toFixed(0)} ms`);
    assert.ok(rows < 60);
    assert.ok(
        tasks.every((task) => task <= LONGEST_TASK_MS),
        tasks.join(),
    );
});

await test('a click on a row counts while events come', async () => {
    const row = page.getByTestId('timeline').getByText('late 10');
    await row.scrollIntoViewIfNeeded();
    const { x, y, height } = await row.boundingBox();
    await page.mouse.move(x + 5, y + height / 2);
    await page.mouse.down();
    await post({ type: 'state', state: state() });
    const late = { seq: EVENTS + 21, at: 1, tone: 'bad', text: 'late 20' };
    // The reader is not at the end any more, so that the row stays where it is.
    await page.evaluate(() => (document.querySelector('[data-testid=timeline]').scrollTop -= 10));
    await post({ type: 'rows', runId: 'r1', from: EVENTS + 20, rows: [late] });
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    await page.mouse.up();
    assert.deepEqual((await sent()).at(-1), { type: 'detail', runId: 'r1', seq: EVENTS + 11 });
});

await test('receiving 2000 events is no long task', async () => {
    await open(themes.dark);
    await post({ type: 'state', state: state() });
    await page.evaluate(() => (window.tasks.length = 0));
    const rows = Array.from({ length: 2000 }, (_, index) => ({
        seq: index + 1,
        at: 1,
        tone: 'plain',
        text: `event ${index}`,
    }));
    await post({ type: 'rows', runId: 'r1', from: 0, rows });
    await page.getByTestId('timeline').getByText('event 1999').waitFor();
    const tasks = await page.evaluate(() => window.tasks);
    assert.ok(
        tasks.every((task) => task <= LONGEST_TASK_MS),
        tasks.join(),
    );
});

const findingRows = (count) =>
    Array.from({ length: count }, (_, index) => ({
        text: `src/parse.rs:${index + 1} cargo E0308: mismatched types ${'é'.repeat(40)}`,
        severity: 'error',
        isNew: index === 0,
        place: { path: 'src/parse.rs', line: index, column: 4 },
    }));

await test('10,000 findings and no task that a person would notice', async () => {
    await open(themes.dark);
    await post({ type: 'state', state: state() });
    const all = findingRows(FINDINGS);
    await page.evaluate(() => (window.tasks.length = 0));
    for (let from = 0; from < FINDINGS; from += 2000) {
        await post({ type: 'findings', runId: 'r1', from, rows: all.slice(from, from + 2000) });
    }
    const findings = page.getByTestId('findings');
    await findings.getByText('src/parse.rs:1 cargo').waitFor();
    await page.evaluate(async () => {
        const list = document.querySelector('[data-testid=findings]');
        for (let part = 0; part <= 100; part += 1) {
            list.scrollTop = (list.scrollHeight * part) / 100;
            await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
        }
    });
    await findings.getByText(`src/parse.rs:${FINDINGS} cargo`).waitFor();
    const rows = await findings.locator('.row').count();
    const tasks = await page.evaluate(() => window.tasks);
    console.log(`# ${rows} rows on the page, longest task ${Math.max(0, ...tasks).toFixed(0)} ms`);
    assert.ok(rows < 60);
    assert.ok(
        tasks.every((task) => task <= LONGEST_TASK_MS),
        tasks.join(),
    );
    await findings.getByText(`src/parse.rs:${FINDINGS} cargo`).click();
    assert.deepEqual((await sent()).at(-1), {
        type: 'open',
        runId: 'r1',
        path: 'src/parse.rs',
        line: FINDINGS - 1,
        column: 4,
    });
});

await test('a run is talked to, paused, stopped, resumed, reverted', async () => {
    await open(themes.dark);
    await post({ type: 'state', state: state() });
    const details = page.getByTestId('details');
    const press = async (name, command) => {
        await details.getByRole('button', { name, exact: true }).click();
        assert.deepEqual((await sent()).at(-1), { type: 'command', command, runId: 'r1' });
    };
    const chosen = (changes) => state({ selected: { ...state().selected, ...changes } });
    await details.getByRole('textbox', { name: 'Tell the agent something' }).fill('Leave the tests to me.');
    assert.equal(await page.evaluate(() => window.remembered.drafts['run:r1']), 'Leave the tests to me.');
    await page.keyboard.press('Control+Enter');
    const told = (await sent()).filter((message) => message.type === 'message');
    assert.deepEqual(told, [{ type: 'message', runId: 'r1', text: 'Leave the tests to me.' }]);
    assert.deepEqual(await page.evaluate(() => window.remembered.drafts), {});
    await press('Pause', 'pause');
    await press('Stop', 'cancel');
    await press('Another model…', 'useModel');
    await post({ type: 'state', state: chosen({ paused: true }) });
    await press('Go on', 'goOn');
    await post({ type: 'state', state: chosen({ status: 'interrupted', over: true }) });
    await press('Resume', 'resume');
    const summary = {
        text: 'Done as asked.',
        verification: 'notNeeded',
        elapsedMs: 1,
        activeMs: 1,
        files: [{ path: 'src/parse.rs', change: 'edited', added: 6, removed: 2 }],
        modelCalls: 3,
        toolCalls: 4,
    };
    await post({ type: 'state', state: chosen({ status: 'succeeded', over: true, summary }) });
    await press('Revert…', 'revert');
    await press('Use as commit message', 'commitMessage');
    await page.getByTestId('summary').getByText('edited src/parse.rs (+6 −2)').waitFor();
    await details.getByText('$0.0045').waitFor();
});

await test('it is used with the keyboard alone', async () => {
    await open(themes.dark);
    await post({ type: 'state', state: state() });
    const events = Array.from({ length: 9 }, (_, seq) => ({
        seq: seq + 1,
        at: 1,
        tone: 'plain',
        text: `event ${seq}`,
    }));
    await post({ type: 'rows', runId: 'r1', from: 0, rows: events });
    await page.getByRole('textbox', { name: 'In your own words' }).focus();
    await page.keyboard.type('From 1, as editors do');
    // A new state must not take what is being typed, nor the focus.
    await post({ type: 'state', state: state() });
    assert.equal(await page.evaluate(() => document.activeElement.value), 'From 1, as editors do');
    await page.keyboard.press('Control+Enter');
    assert.deepEqual((await sent()).at(-1), { type: 'words', questionId: 'r1.q2', words: 'From 1, as editors do' });
    await page.keyboard.press('Tab');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    assert.deepEqual((await sent()).at(-1), {
        type: 'answer',
        questionId: 'r1.q2',
        answer: { type: 'choice', choice: '1' },
    });
    await page.getByTestId('timeline').focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    assert.deepEqual((await sent()).at(-1), { type: 'detail', runId: 'r1', seq: 2 });
    await post({ type: 'detail', runId: 'r1', seq: 2, text: '{ "type": "x" }' });
    await page.getByText('{ "type": "x" }').waitFor();
});

await test('what was typed is there again', async () => {
    await open(themes.dark, {
        prompt: 'half a thought',
        selected: 'r0',
        drafts: { 'r1.q2': 'perhaps', 'r9.q1': 'gone' },
    });
    assert.deepEqual(await sent(), [{ type: 'ready', selected: 'r0' }]);
    await post({ type: 'state', state: state() });
    assert.equal(await page.getByRole('textbox', { name: 'What shall be done?' }).inputValue(), 'half a thought');
    assert.equal(await page.getByRole('textbox', { name: 'In your own words' }).inputValue(), 'perhaps');
    assert.deepEqual(await page.evaluate(() => window.remembered.drafts), { 'r1.q2': 'perhaps' });
    await post({ type: 'state', state: state({ inbox: [] }) });
    await page.getByTestId('question-r1.q2').waitFor({ state: 'detached' });
    await page.waitForFunction(() => window.sent.some((message) => message.type === 'remember'));
});

await test('what the extension remembered is newer than the page’s own memory, not than what is typed now', async () => {
    const memory = { prompt: 'told letter by letter', drafts: { 'r1.q2': 'a draft' } };
    const field = page.getByRole('textbox', { name: 'What shall be done?' });
    for (const [own, typed, prompt] of [
        [null, undefined, memory.prompt],
        [{ prompt: 'told let', drafts: {} }, undefined, memory.prompt],
        [{ prompt: '', drafts: {} }, 'typed now', 'typed now'],
    ]) {
        await open(themes.dark, own);
        if (typed) {
            await field.fill(typed);
        }
        await post({ type: 'memory', memory });
        await post({ type: 'state', state: state() });
        assert.equal(
            await page.getByRole('textbox', { name: 'In your own words' }).inputValue(),
            typed ? '' : 'a draft',
        );
        assert.equal(await field.inputValue(), prompt);
    }
});

for (const [name, theme] of Object.entries(themes)) {
    await test(`axe finds nothing (${name})`, async () => {
        await open(theme);
        await post({ type: 'state', state: state() });
        const rows = Array.from({ length: 50 }, (_, index) => ({
            seq: index + 1,
            at: 1,
            tone: 'bad',
            text: `event ${index}`,
        }));
        await post({ type: 'rows', runId: 'r1', from: 0, rows });
        await post({ type: 'findings', runId: 'r1', from: 0, rows: findingRows(30) });
        await page.getByTestId('timeline').getByText('event 49').waitFor();
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run());
        const found = violations.map(
            ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`,
        );
        assert.deepEqual(found, []);
        await page.screenshot({ path: `${shots}/panel-axe-${name}.png` });
    });
}

await browser.close();
console.log(`panel: ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
