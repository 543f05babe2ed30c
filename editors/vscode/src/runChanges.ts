// What the files that a run changed were before, from its events. Pure.

import type { Record as RunRecord } from './protocol';

export interface FileBefore {
    path: string;
    /** `undefined`: the text is not in the events; `null`: there was no file. */
    before: string | null | undefined;
    /** Whether the run left a file there. */
    exists: boolean;
}

/** The files in order of their first change. */
export function filesBefore(records: readonly RunRecord[]): FileBefore[] {
    const texts = new Map<string, string>();
    const planned = new Map<number, { path: string; before: string | null; after: string | null }>();
    const files = new Map<string, FileBefore>();
    for (const { event } of records) {
        switch (event.type) {
            case 'fileInspected':
                if (event.now.state === 'text') {
                    texts.set(event.now.hash, event.now.text);
                }
                break;
            case 'changePlanned':
                planned.set(event.change, event);
                break;
            case 'changeMade': {
                const change = planned.get(event.change) ?? event;
                const first = files.get(event.path);
                const before = change.before === null ? null : texts.get(change.before);
                files.set(event.path, {
                    path: event.path,
                    before: first ? first.before : before,
                    exists: event.after !== null,
                });
                break;
            }
            default:
                break;
        }
    }
    return [...files.values()];
}
