// What holds in each folder, as its sidecar has told: settings with where they come from, and the model that would answer.

import type { Setting } from './protocol';
import type { Sidecar } from './sidecar';

export class KnownSettings {
    /** By the folder's URI. */
    readonly #settings = new Map<string, readonly Setting[]>();
    readonly #chosenModel = new Map<string, string>();

    settings(folder: string): readonly Setting[] {
        return this.#settings.get(folder) ?? [];
    }

    /** The model of a run that names none. */
    model(folder: string): string | undefined {
        const set = this.settings(folder).find(({ name }) => name === 'model')?.value;
        return typeof set === 'string' && set !== '' ? set : this.#chosenModel.get(folder);
    }

    /** Asks a sidecar that runs; `changed` is called whenever there is something new. */
    async learn(sidecar: Sidecar, changed: () => void): Promise<void> {
        // To be asked would start one that was stopped, or that keeps ending.
        if (sidecar.phase !== 'running') {
            return;
        }
        const folder = sidecar.folder.uri.toString();
        const { settings } = await sidecar.request('outrigger/settings/list', {});
        this.#settings.set(folder, settings);
        changed();
        // Nobody but this machine is asked: a window that opens shall not call out.
        const { choice } = await sidecar.request('outrigger/models/list', { offline: true });
        if (choice) {
            this.#chosenModel.set(folder, choice.model);
        } else {
            this.#chosenModel.delete(folder);
        }
        changed();
    }
}
