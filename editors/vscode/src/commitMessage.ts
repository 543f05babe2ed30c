// The commit message of a run. Pure.

import type { RunState } from './sidecarState';

const SUBJECT_LETTERS = 72;

/** A subject from what was asked for, and what the run says it did. */
export function commitMessage({ prompt, end }: Pick<RunState, 'prompt' | 'end'>): string {
    const asked = (prompt.split('\n').find((line) => line.trim() !== '') ?? '').trim().replace(/[.:]+$/, '');
    const subject = cut(asked.charAt(0).toUpperCase() + asked.slice(1));
    const told = end?.summary.text.trim() ?? '';
    return told === '' ? subject : `${subject}\n\n${told}`;
}

/** At a word's end where there is one. */
function cut(text: string): string {
    if (text.length <= SUBJECT_LETTERS) {
        return text;
    }
    // Half of a letter that takes two places is none.
    const short = text.slice(0, SUBJECT_LETTERS - 1).replace(/[\uD800-\uDBFF]$/, '');
    const end = short.lastIndexOf(' ');
    return `${end > SUBJECT_LETTERS / 2 ? short.slice(0, end) : short}…`;
}
