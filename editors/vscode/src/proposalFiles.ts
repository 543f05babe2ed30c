// Proposals as documents that can be edited: a file system in memory. Nothing of it ever reaches the disk.

import * as vscode from 'vscode';

// With it VS Code reads the bytes as UTF-8, whatever encoding the user has chosen for files.
const BYTE_ORDER_MARK = '\uFEFF';

interface ProposalFile {
    bytes: Uint8Array;
    changedAt: number;
}

export class ProposalFiles implements vscode.FileSystemProvider {
    readonly #files = new Map<string, ProposalFile>();
    readonly #changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
    readonly onDidChangeFile = this.#changed.event;

    /** `read` gives the text of a file that was not written yet; `undefined`: there is none. */
    constructor(private readonly read: (path: string) => Promise<string | undefined>) {}

    /** Drops what is no longer needed. */
    forget(isOver: (path: string) => boolean): void {
        for (const path of [...this.#files.keys()]) {
            if (isOver(path)) {
                this.#files.delete(path);
            }
        }
    }

    async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
        const { bytes, changedAt } = await this.#file(uri);
        return { type: vscode.FileType.File, ctime: 0, mtime: changedAt, size: bytes.length };
    }

    async readFile(uri: vscode.Uri): Promise<Uint8Array> {
        return (await this.#file(uri)).bytes;
    }

    writeFile(uri: vscode.Uri, bytes: Uint8Array): void {
        this.#files.set(uri.path, { bytes, changedAt: Date.now() });
        this.#changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
    }

    watch(): vscode.Disposable {
        return new vscode.Disposable(() => undefined);
    }

    readDirectory(): [string, vscode.FileType][] {
        return [];
    }

    createDirectory(uri: vscode.Uri): void {
        throw vscode.FileSystemError.NoPermissions(uri);
    }

    delete(uri: vscode.Uri): void {
        throw vscode.FileSystemError.NoPermissions(uri);
    }

    rename(uri: vscode.Uri): void {
        throw vscode.FileSystemError.NoPermissions(uri);
    }

    dispose(): void {
        this.#changed.dispose();
    }

    async #file(uri: vscode.Uri): Promise<ProposalFile> {
        const known = this.#files.get(uri.path);
        if (known) {
            return known;
        }
        const text = await this.read(uri.path);
        if (text === undefined) {
            throw vscode.FileSystemError.FileNotFound(uri);
        }
        const file = { bytes: new TextEncoder().encode(BYTE_ORDER_MARK + text), changedAt: 0 };
        this.#files.set(uri.path, file);
        return file;
    }
}
