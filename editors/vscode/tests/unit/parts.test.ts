import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { binaryCandidates, findBinary } from '../../src/binary';
import { durationText, isAtEnd, visibleRows } from '../../src/panel/virtualList';
import { PanelMemoryFile } from '../../src/panelMemoryFile';
import { panelCommands } from '../../src/panelMessages';
import { RestartBudget } from '../../src/restartBudget';
import { describeRecord } from '../../src/timelineRow';
import { records } from './samples';

test('types and settings are those of the program', () => {
    assert.ok(process.env['OUTRIGGER_BIN'], 'OUTRIGGER_BIN must name the program');
    execFileSync('node', ['tools/generate.mjs', '--check'], { stdio: 'pipe' });
});

test('the manifest and the code name the same commands', () => {
    const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
        contributes: {
            commands: { command: string }[];
            keybindings: { command: string }[];
            menus: Record<string, { command: string }[]>;
        };
    };
    const declared = manifest.contributes.commands.map(({ command }) => command);
    assert.equal(new Set(declared).size, declared.length);
    const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
    const source = files.map((file) => readFileSync(join('src', file), 'utf8')).join('\n');
    for (const command of declared) {
        assert.match(source, new RegExp(`(?:registerCommand\\()?'${command}'(?::|,)`), `${command} is registered`);
    }
    // Every button of the panel is a command, too.
    for (const name of panelCommands.filter((one) => !['setPath', 'trust', 'openFolder'].includes(one))) {
        assert.ok(declared.includes(`outrigger.${name}`), `${name} is a command`);
    }
    const used = [...manifest.contributes.keybindings, ...Object.values(manifest.contributes.menus).flat()];
    for (const { command } of used) {
        assert.ok(declared.includes(command), `${command} is declared`);
    }
});

const places = {
    setting: '',
    bundledFolder: '/ext/bin',
    searchPath: '/usr/bin::/opt/é/',
    homeFolder: '/home/ada$&',
    platform: 'linux',
} as const;

test('a setting stands alone, else what is bundled comes before PATH', () => {
    const files = (changed: Partial<Parameters<typeof binaryCandidates>[0]>) =>
        binaryCandidates({ ...places, ...changed }).map(({ file }) => file);
    assert.deepEqual(files({}), ['/ext/bin/outrigger', '/usr/bin/outrigger', '/opt/é/outrigger']);
    assert.deepEqual(files({ setting: ' /o/outrigger ' }), ['/o/outrigger']);
    assert.deepEqual(files({ setting: '~/outrigger' }), ['/home/ada$&/outrigger']);
    assert.deepEqual(files({ platform: 'win32', bundledFolder: 'C:\\e\\bin', searchPath: 'C:\\a;D:\\b\\' }), [
        'C:\\e\\bin\\outrigger.exe',
        'C:\\a\\outrigger.exe',
        'D:\\b\\outrigger.exe',
    ]);
});

test('a missing program says where it was looked for', async () => {
    const isThere =
        (...there: string[]) =>
        (file: string) =>
            Promise.resolve(there.includes(file));
    const candidates = binaryCandidates(places);
    assert.deepEqual(await findBinary(candidates, isThere('/usr/bin/outrigger', '/opt/é/outrigger')), {
        found: { source: 'path', file: '/usr/bin/outrigger' },
    });
    const missing = await findBinary(candidates, isThere());
    assert.ok(!missing.found && missing.tried.length === 3 && /PATH/.test(missing.reason));
    const wrong = await findBinary(binaryCandidates({ ...places, setting: '/o' }), isThere('/usr/bin/outrigger'));
    assert.ok(!wrong.found && /outrigger\.path names \/o/.test(wrong.reason));
});

test('a process may end a few times, not for ever', () => {
    const budget = new RestartBudget(2, 1000);
    assert.deepEqual(
        [0, 10, 20, 1005, 1011, 1012].map((now) => budget.mayRestart(now)),
        [true, true, false, true, true, false],
    );
});

test('only rows in sight are on the page', () => {
    const base = { height: 220, rowHeight: 22, total: 100_000, margin: 10 };
    assert.deepEqual(visibleRows({ ...base, scrollTop: 0 }), { first: 0, end: 20 });
    assert.deepEqual(visibleRows({ ...base, scrollTop: 22 * 500 + 5 }), { first: 490, end: 520 });
    assert.deepEqual(visibleRows({ ...base, scrollTop: 22 * 99_990 }), { first: 99_980, end: 100_000 });
    assert.deepEqual(visibleRows({ ...base, scrollTop: 1e9, total: 3 }), { first: 0, end: 3 });
    assert.deepEqual(visibleRows({ ...base, scrollTop: -5, total: 0 }), { first: 0, end: 0 });
    assert.deepEqual([isAtEnd(100, 50, 152), isAtEnd(90, 50, 152)], [true, false]);
    assert.deepEqual([0, 59_999, 61_000, 3_660_000].map(durationText), ['0 s', '59 s', '1 min 1 s', '1 h 1 min']);
});

test('what was typed last is kept', async () => {
    const folder = join(mkdtempSync(join(tmpdir(), 'or-memory-')), 'not there yet');
    const file = new PanelMemoryFile(folder);
    assert.equal(await file.read(), undefined);
    for (const prompt of ['ü', 'üb', 'übe']) {
        void file.write({ prompt, drafts: {} });
    }
    assert.deepEqual(await file.read(), { prompt: 'übe', drafts: {} });
    assert.deepEqual(await new PanelMemoryFile(folder).read(), { prompt: 'übe', drafts: {} });
    await new PanelMemoryFile(undefined).write({ prompt: 'x', drafts: {} });
});

test('a row is one line', () => {
    const [record] = records([{ type: 'toolFailed', call: 'c', error: `a\n\n b${'x'.repeat(999)}` }]);
    assert.ok(record);
    const row = describeRecord(record);
    assert.ok(row.text.startsWith('c failed: a bxxx') && row.text.length === 240 && row.tone === 'bad');
});
