// What commands are given: by buttons, by links, by keybindings of the user. Pure.

import type { AnswerInput } from '../protocol';

export function runIdIn(argument: unknown): string | undefined {
    return typeof argument === 'string' ? argument : textField(argument, 'runId');
}

export function questionIdIn(argument: unknown): string | undefined {
    return typeof argument === 'string' ? argument : textField(argument, 'questionId');
}

export function answerIn(argument: unknown): AnswerInput | undefined {
    const answer =
        typeof argument === 'object' && argument !== null && 'answer' in argument ? argument.answer : undefined;
    return typeof answer === 'object' && answer !== null ? (answer as AnswerInput) : undefined;
}

export function textField(argument: unknown, name: string): string | undefined {
    if (typeof argument !== 'object' || argument === null) {
        return undefined;
    }
    const value: unknown = (argument as Record<string, unknown>)[name];
    return typeof value === 'string' ? value : undefined;
}
