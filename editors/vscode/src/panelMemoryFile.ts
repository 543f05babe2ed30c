// What the panel must not forget, in a file of the extension: VS Code keeps its own memory of extensions in the browser
// when it runs in one, and writes it late.

import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import * as path from 'node:path';
import type { PanelMemory } from './panelMessages';

export class PanelMemoryFile {
    #writing: Promise<void> = Promise.resolve();
    #next: PanelMemory | undefined;

    /** `folder` is made when something is written; `undefined`: nothing is kept. */
    constructor(private readonly folder: string | undefined) {}

    async read(): Promise<PanelMemory | undefined> {
        await this.#writing;
        try {
            return this.folder === undefined
                ? undefined
                : (JSON.parse(await readFile(this.#file(this.folder), 'utf8')) as PanelMemory);
        } catch {
            // None yet, or none that can be read: then there is nothing to remember.
            return undefined;
        }
    }

    /** Writes the last of what is asked for while a write is going on. */
    write(memory: PanelMemory): Promise<void> {
        const isWaiting = this.#next !== undefined;
        this.#next = memory;
        if (!isWaiting) {
            this.#writing = this.#writing.then(() => this.#write());
        }
        return this.#writing;
    }

    async #write(): Promise<void> {
        const memory = this.#next;
        this.#next = undefined;
        if (this.folder === undefined || !memory) {
            return;
        }
        try {
            await mkdir(this.folder, { recursive: true });
            const fresh = `${this.#file(this.folder)}.new`;
            await writeFile(fresh, JSON.stringify(memory), { mode: 0o600 });
            await rename(fresh, this.#file(this.folder));
        } catch {
            // A draft that cannot be kept is no reason to disturb who types it.
        }
    }

    #file(folder: string): string {
        return path.join(folder, 'panel.json');
    }
}
