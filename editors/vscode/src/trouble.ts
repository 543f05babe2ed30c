// The page about a sidecar that keeps ending: what happened, the end of its log, what can be done. A page without scripts;
// its links are commands.

import { open } from 'node:fs/promises';
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Sidecars } from './sidecars';
import { troublePage, type Trouble } from './troublePage';

const LOG_BYTES = 20_000;
const COMMANDS = ['outrigger.restart', 'outrigger.showLog', 'outrigger.findProgram', 'outrigger.copyTrouble'];

export class TroublePage implements vscode.Disposable {
    #panel: vscode.WebviewPanel | undefined;

    constructor(
        private readonly sidecars: Sidecars,
        /** Folder of this extension's log. */
        private readonly logFolder: vscode.Uri,
    ) {}

    get isOpen(): boolean {
        return this.#panel !== undefined;
    }

    async show(): Promise<void> {
        const trouble = await this.#trouble();
        this.#panel ??= this.#make();
        this.#panel.webview.html = troublePage(trouble, this.#panel.webview.cspSource);
        this.#panel.reveal();
    }

    /** Everything that the page says, for a report. */
    async copy(): Promise<void> {
        const { programs, ends, log } = await this.#trouble();
        await vscode.env.clipboard.writeText([...programs, ...ends, '', log].join('\n'));
        void vscode.window.setStatusBarMessage(
            'Copied. It holds paths of this machine; look before you share it.',
            5000,
        );
    }

    close(): void {
        this.#panel?.dispose();
    }

    dispose(): void {
        this.close();
    }

    #make(): vscode.WebviewPanel {
        const panel = vscode.window.createWebviewPanel(
            'outrigger.trouble',
            'Outrigger: the sidecar ended',
            { viewColumn: vscode.ViewColumn.Active, preserveFocus: true },
            { enableScripts: false, enableCommandUris: COMMANDS, localResourceRoots: [] },
        );
        panel.onDidDispose(() => {
            this.#panel = undefined;
        });
        return panel;
    }

    async #trouble(): Promise<Trouble> {
        const sidecars = this.sidecars.all();
        return {
            programs: sidecars.map(({ folder, search }) =>
                search?.found
                    ? `${folder.name}: ${search.found.file} (${search.found.source})`
                    : `${folder.name}: ${search?.reason ?? 'not looked for'}`,
            ),
            ends: sidecars.flatMap(({ ends }) => ends.slice(-5)),
            log: await endOf(path.join(this.logFolder.fsPath, 'Outrigger.log')),
        };
    }
}

async function endOf(file: string): Promise<string> {
    try {
        const handle = await open(file);
        try {
            const { size } = await handle.stat();
            const from = Math.max(0, size - LOG_BYTES);
            const { buffer, bytesRead } = await handle.read(Buffer.alloc(LOG_BYTES), 0, LOG_BYTES, from);
            const text = buffer.subarray(0, bytesRead).toString('utf8');
            // A first line that is cut off says nothing.
            return from === 0 ? text : text.slice(text.indexOf('\n') + 1);
        } finally {
            await handle.close();
        }
    } catch {
        return '';
    }
}
