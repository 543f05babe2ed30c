// Runs `tests/host` inside a real extension host: node tests/host.mjs VSCODE OUTRIGGER [NAME...]
//
// By the means of VS Code's own browser tests: the page is told where the extension and its tests are, and tells back
// through two functions of the page what they say and how they end.

import { resolve } from 'node:path';
import { openBrowser, startVsCode } from './harness.mjs';

const [vscode, program, ...names] = process.argv.slice(2);
const PATIENCE_MS = 600_000;
/** Suites with the window that each needs. */
const suites = {
    index: { files: { 'start.txt': 'one\n', '.vscode/settings.json': '{}' } },
    roots: { files: {}, folders: ['one', 'two'] },
    untrusted: {
        files: {
            'todo.py': '# TODO: say hello\n',
            '.vscode/settings.json': '{ "outrigger.path": "/evil/outrigger" }',
        },
        isTrusted: false,
    },
};

let failed = false;
for (const [name, window] of Object.entries(suites)) {
    if (names.length > 0 && !names.includes(name)) {
        continue;
    }
    const code = await runSuite(name, window);
    if (code !== 0) {
        console.log(`host: ${name}: exit ${code}`);
        failed = true;
    }
}
process.exit(failed ? 1 : 0);

async function runSuite(name, window) {
    const server = await startVsCode({
        vscode,
        driver: true,
        ...window,
        // The commit message's test is about it.
        settings: {
            'git.enabled': true,
            'git.openRepositoryInParentFolders': 'never',
            'security.workspace.trust.startupPrompt': 'never',
        },
        machine: { 'outrigger.path': resolve(program) },
    });
    const { browser, page } = await openBrowser();
    let code = 'it did not end in time';
    try {
        const ended = new Promise((resolve) => page.exposeFunction('codeAutomationExit', resolve));
        await page.exposeFunction('codeAutomationLog', (_type, parts) => {
            const text = parts.join(' ');
            // What VS Code itself has to say goes elsewhere.
            if (process.env.VERBOSE || /^(ok|FAIL|#|host:| {5})/.test(text)) {
                console.log(text);
            }
        });
        const payload = [
            ['extensionDevelopmentPath', server.remote(resolve('.'))],
            ['extensionTestsPath', server.remote(resolve(`dist/host/${name}.js`))],
        ];
        await page.goto(server.address(undefined, payload));
        let timer;
        const late = new Promise((resolve) => (timer = setTimeout(resolve, PATIENCE_MS, code)));
        code = await Promise.race([ended, late]);
        clearTimeout(timer);
        if (code !== 0 && process.env.SHOTS) {
            await page.screenshot({ path: `${process.env.SHOTS}/host-${name}-failed.png` });
        }
    } finally {
        await browser.close();
        await server.stop();
    }
    return code;
}
