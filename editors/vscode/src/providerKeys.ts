// Keys of providers in VS Code's secret store. A sidecar is handed them after each start; it keeps them in memory only.

import type * as vscode from 'vscode';

/** Which providers have a key; the store itself cannot be asked. */
const NAMES = 'outrigger.providers';

export class ProviderKeys {
    constructor(private readonly secrets: vscode.SecretStorage) {}

    /** Providers with their keys. */
    async all(): Promise<[provider: string, key: string][]> {
        const found = await Promise.all(
            (await this.names()).map(async (name) => [name, await this.secrets.get(place(name))] as const),
        );
        return found.flatMap(([name, key]) => (key === undefined ? [] : [[name, key]]));
    }

    async names(): Promise<string[]> {
        const stored = await this.secrets.get(NAMES);
        try {
            const names: unknown = JSON.parse(stored ?? '[]');
            return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
        } catch {
            return [];
        }
    }

    /** Keeps a key, or forgets it. */
    async set(provider: string, key: string | undefined): Promise<void> {
        const others = (await this.names()).filter((name) => name !== provider);
        if (key === undefined) {
            await this.secrets.delete(place(provider));
            await this.secrets.store(NAMES, JSON.stringify(others));
        } else {
            // The name first: a key that no name leads to would never be forgotten.
            await this.secrets.store(NAMES, JSON.stringify([...others, provider]));
            await this.secrets.store(place(provider), key);
        }
    }
}

function place(provider: string): string {
    return `outrigger.key.${provider}`;
}
