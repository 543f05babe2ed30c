// Names of the documents of an overwrite. In the editor each ends with the file's own path, so that it is coloured like
// it; the server knows them without. Pure.

import type { QuestionId } from './protocol';

/** Read-only documents of the server. */
export const SIDE_SCHEME = 'outrigger';
/** The proposal as the user may still change it, in memory. */
export const PROPOSAL_SCHEME = 'outrigger-proposal';

export type Side = 'base' | 'current' | 'proposed';

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
    const match = /^\/question\/([^/]+)\/(base|current|proposed)\/(.+)$/s.exec(path);
    const [, question, side, file] = match ?? [];
    return question !== undefined && file !== undefined ? { question, side: side as Side, file } : undefined;
}
