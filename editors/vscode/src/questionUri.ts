// Names of the sidecar's documents. In the editor those of a file end with the file's own path, so that it is coloured
// like it; the server knows the sides of a question without. Pure.

import type { QuestionId, RunId } from './protocol';

/** Read-only documents of the server. */
export const SIDE_SCHEME = 'outrigger';
/** The proposal as the user may still change it, in memory. */
export const PROPOSAL_SCHEME = 'outrigger-proposal';

export type Side = 'base' | 'current' | 'proposed' | 'merged';

/** Path of a side's document in the editor. `file` is relative to the workspace folder. */
export function sidePath(question: QuestionId, side: Side, file: string): string {
    return `/question/${question}/${side}/${file}`;
}

/** The server's name of a side. */
export function serverUri(question: QuestionId, side: Side): string {
    return `${SIDE_SCHEME}:/question/${question}/${side}`;
}

/** What a document's path in the editor names. */
export function readSidePath(path: string): { question: QuestionId; side: Side; file: string } | undefined {
    const match = /^\/question\/([^/]+)\/(base|current|proposed|merged)\/(.+)$/s.exec(path);
    const [, question, side, file] = match ?? [];
    return question !== undefined && file !== undefined ? { question, side: side as Side, file } : undefined;
}

/** Path of the document of a file as a run found or left it. */
export function changedPath(run: RunId, side: 'before' | 'after', file: string): string {
    return `/run/${run}/${side}/${file}`;
}

/** The run whose change a document's path names. */
export function readChangedPath(path: string): RunId | undefined {
    return /^\/run\/([^/]+)\/(?:before|after)\/.+$/s.exec(path)?.[1];
}

/** The gate whose own words a document's path names. */
export function readGatePath(path: string): string | undefined {
    return /^\/gate\/([^/]+)$/.exec(path)?.[1];
}

/** A document's path in the editor as the server's URI: every part encoded. */
export function encodedUri(path: string): string {
    return `${SIDE_SCHEME}:${path.split('/').map(encodeURIComponent).join('/')}`;
}
