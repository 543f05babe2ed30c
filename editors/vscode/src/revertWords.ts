// What of a run can be taken back, and what taking it back came to, in words. Pure.

import type { RevertOutcome, RunChangesResult, RunRevertParams, RunRevertResult } from './protocol';

export type RevertPart = Pick<RunRevertParams, 'step' | 'paths' | 'hunks'>;

export interface RevertOffer {
    label: string;
    description: string;
    detail: string;
    part: RevertPart;
}

/** All of it first, then each step, each file, each hunk, as far as they differ from one another. */
export function offeredReverts({ files }: RunChangesResult): RevertOffer[] {
    const changed = files.filter(({ kind }) => kind !== 'unchanged');
    if (changed.length === 0) {
        return [];
    }
    const all = { label: 'All that the run did', description: count(changed.length, 'file'), detail: '', part: {} };
    const steps = new Map<string, { reason: string; paths: string[] }>();
    for (const { path, changes } of changed) {
        for (const { step, reason } of changes) {
            if (typeof step === 'string') {
                const known = steps.get(step) ?? { reason, paths: [] };
                known.paths.push(path);
                steps.set(step, known);
            }
        }
    }
    const ofSteps = [...steps].map(([step, { reason, paths }]) => ({
        label: `Step ${step}`,
        description: reason,
        detail: [...new Set(paths)].join(', '),
        part: { step },
    }));
    const ofFiles = changed.map(({ path, kind }) => ({
        label: path,
        description: kind,
        detail: '',
        part: { paths: [path] },
    }));
    const ofHunks = changed
        .filter(({ hunks }) => hunks.length > 1)
        .flatMap(({ path, hunks }) =>
            hunks.map(({ id, newStart, newLines, added, removed }) => ({
                label: `${path}, ${lines(newStart, newLines)}`,
                description: 'one change',
                detail: (added[0] ?? removed[0] ?? '').trim(),
                part: { paths: [path], hunks: [id] },
            })),
        );
    return [all, ...(ofSteps.length > 1 ? ofSteps : []), ...(ofFiles.length > 1 ? ofFiles : []), ...ofHunks];
}

const PLANNED: Record<RevertOutcome, string> = {
    restored: 'becomes what it was before',
    removed: 'goes; the run had made it',
    merged: 'loses what the run did; your edits stay',
    alreadyAsBefore: 'is as it was before already',
    left: 'stays as it is',
    overruled: 'is taken back although it was edited since; those edits go',
    failed: 'could not be looked at',
};
const DONE: Record<RevertOutcome, string> = {
    restored: 'is what it was before',
    removed: 'is gone',
    merged: 'is without what the run did; your edits stay',
    alreadyAsBefore: 'was as before already',
    left: 'was left as it is',
    overruled: 'was taken back although it had been edited since',
    failed: 'could not be reverted',
};

/** One line for each file. */
export function revertedText({ files }: RunRevertResult, when: 'preview' | 'done'): string {
    const words = when === 'preview' ? PLANNED : DONE;
    return files
        .map(({ path, outcome, reason }) => `${path} ${words[outcome]}${reason ? `: ${reason}` : ''}`)
        .join('\n');
}

/** The patches, each under what becomes of its file. */
export function previewText(result: RunRevertResult): string {
    return result.files
        .map((file) => `# ${revertedText({ ...result, files: [file] }, 'preview')}\n${file.patch}`)
        .join('\n');
}

/** Of a hunk, which counts from 0; of one that only takes lines away, where they were. */
function lines(start: number, length: number): string {
    return length <= 1 ? `line ${start + 1}` : `lines ${start + 1} to ${start + length}`;
}

function count(number: number, what: string): string {
    return number === 1 ? `1 ${what}` : `${number} ${what}s`;
}
