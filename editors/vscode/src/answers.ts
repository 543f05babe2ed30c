// What an answer to a question is: from its choices, from words, from an edited proposal. Pure.

import type { AnswerInput, Hunk, Question, QuestionState } from './protocol';

/** An answer that a button can give. */
export interface OfferedAnswer {
    label: string;
    /** What happens then. */
    effect: string;
    answer: AnswerInput;
}

/** The question's choices as answers, in the server's order. */
export function offeredAnswers(question: Question): OfferedAnswer[] {
    return question.choices.map(({ id, label, effect }) => ({ label, effect, answer: { type: 'choice', choice: id } }));
}

/** Whether the user can write an answer: as free text, or as the reason for keeping their own version. */
export function takesWords(question: Question): boolean {
    return question.freeText || question.kind.kind === 'overwrite';
}

/**
 * What a person means by words: the choice with that label or id, the reason to keep their own version of a file, else
 * free text. `undefined`: the words are no answer.
 */
export function answerInWords(question: Question, words: string): AnswerInput | undefined {
    const text = words.trim();
    if (text === '') {
        return undefined;
    }
    const same = (other: string) => other.trim().toLowerCase() === text.toLowerCase();
    const choice = question.choices.find((one) => same(one.id)) ?? question.choices.find((one) => same(one.label));
    if (choice) {
        return { type: 'choice', choice: choice.id };
    }
    if (question.freeText) {
        return { type: 'text', text };
    }
    return question.kind.kind === 'overwrite' ? { type: 'keepMine', reason: text } : undefined;
}

/** How a question ended, for people; `undefined` while it is open. */
export function resolutionText(question: Question): string | undefined {
    const state: QuestionState = question.state;
    switch (state.state) {
        case 'open':
            return undefined;
        case 'withdrawn':
            return `Withdrawn: ${state.reason}`;
        case 'answered':
            return `${answerText(question, state.answer)} – ${state.by}`;
    }
}

function answerText(question: Question, answer: AnswerInput): string {
    switch (answer.type) {
        case 'takeAll':
            return 'Took the agent’s version';
        case 'takeHunks':
            return answer.hunks.length === 1 ? 'Took 1 change' : `Took ${answer.hunks.length} changes`;
        case 'takeText':
            return 'Took an edited version';
        case 'keepMine':
            return answer.reason ? `Kept their own: ${answer.reason}` : 'Kept their own';
        case 'choice':
            return question.choices.find((choice) => choice.id === answer.choice)?.label ?? answer.choice;
        case 'text':
            return answer.text;
        case 'stopRun':
            return 'Stopped the run';
    }
}

/** The current text with some of the hunks taken. */
export function withHunks(current: string, hunks: readonly Hunk[], taken: ReadonlySet<number>): string {
    const lines = splitLines(current);
    const result: string[] = [];
    let next = 0;
    for (const hunk of hunks) {
        result.push(...lines.slice(next, hunk.oldStart));
        next = hunk.oldStart + hunk.oldLines;
        result.push(...(taken.has(hunk.id) ? hunk.added : lines.slice(hunk.oldStart, next)));
    }
    result.push(...lines.slice(next));
    return result.join('');
}

export interface ProposalTexts {
    /** What is there. */
    current: string;
    /** What the agent wants. */
    proposed: string;
    hunks: readonly Hunk[];
}

/**
 * The answer that accepting `text` is. An editor may have made all line endings the same; where the text is otherwise
 * one that the agent and the user have made between them, the answer names it so, and the server writes its exact bytes.
 */
export function answerFromText(texts: ProposalTexts, text: string): AnswerInput {
    if (sameLines(text, texts.proposed)) {
        return { type: 'takeAll' };
    }
    if (sameLines(text, texts.current)) {
        return { type: 'keepMine' };
    }
    const hunks = takenHunks(texts, text);
    return hunks ? { type: 'takeHunks', hunks } : { type: 'takeText', text };
}

/** The hunks that were taken to make `text` from the current one; `undefined`: something else was done to it. */
function takenHunks({ current, hunks }: ProposalTexts, text: string): number[] | undefined {
    const before = splitLines(current).map(withoutEnding);
    const after = splitLines(text).map(withoutEnding);
    const startsAt = (lines: readonly string[], at: number) => lines.every((line, index) => after[at + index] === line);
    // Lines before `at` are explained by the hunks before `index`; places that led nowhere are not tried again.
    const hopeless = new Set<string>();
    const explain = (index: number, at: number, oldLine: number): number[] | undefined => {
        const hunk = hunks[index];
        const between = before.slice(oldLine, hunk ? hunk.oldStart : undefined);
        const key = `${index}:${at}`;
        if (hopeless.has(key) || !startsAt(between, at)) {
            return undefined;
        }
        const here = at + between.length;
        if (!hunk) {
            return here === after.length ? [] : undefined;
        }
        const added = hunk.added.map(withoutEnding);
        const removed = before.slice(hunk.oldStart, hunk.oldStart + hunk.oldLines);
        const end = hunk.oldStart + hunk.oldLines;
        const left = startsAt(removed, here) ? explain(index + 1, here + removed.length, end) : undefined;
        if (left) {
            return left;
        }
        const taken = startsAt(added, here) ? explain(index + 1, here + added.length, end) : undefined;
        if (taken) {
            return [hunk.id, ...taken];
        }
        hopeless.add(key);
        return undefined;
    };
    return explain(0, 0, 0);
}

/** A place in an edited proposal, where one side of a hunk can be put in for the other. */
export interface HunkPlace {
    hunk: Hunk;
    /** Whether the agent's side is there now, else the user's. */
    holds: 'agent' | 'user';
    /** First line and number of lines in the text, from 0. */
    line: number;
    lines: number;
}

/** Where the hunks are in a text that is made of them; empty when it was edited otherwise. */
export function hunkPlaces(texts: ProposalTexts, text: string): HunkPlace[] {
    const answer = answerFromText(texts, text);
    const taken =
        answer.type === 'takeAll'
            ? texts.hunks.map((hunk) => hunk.id)
            : answer.type === 'takeHunks'
              ? answer.hunks
              : answer.type === 'keepMine'
                ? []
                : undefined;
    if (!taken) {
        return [];
    }
    let moved = 0;
    return texts.hunks.map((hunk) => {
        const agent = taken.includes(hunk.id);
        const lines = agent ? hunk.added.length : hunk.oldLines;
        const place: HunkPlace = { hunk, holds: agent ? 'agent' : 'user', line: hunk.oldStart + moved, lines };
        moved += lines - hunk.oldLines;
        return place;
    });
}

/** The text with another side of one hunk. */
export function withOtherSide(texts: ProposalTexts, places: readonly HunkPlace[], at: HunkPlace): string {
    const taken = places
        .filter((place) => (place.holds === 'agent') !== (place.hunk.id === at.hunk.id))
        .map((place) => place.hunk.id);
    return withHunks(texts.current, texts.hunks, new Set(taken));
}

/** Lines with their endings. */
function splitLines(text: string): string[] {
    return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function withoutEnding(line: string): string {
    return line.replace(/\r?\n$/, '');
}

/** Whether two texts are the same but for the endings of their lines. */
export function sameLines(one: string, other: string): boolean {
    return one.replace(/\r\n?/g, '\n') === other.replace(/\r\n?/g, '\n');
}
