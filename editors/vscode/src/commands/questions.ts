// Commands that show and answer questions.

import * as vscode from 'vscode';
import { answerInWords, offeredAnswers } from '../answers';
import { isOverwrite, isReviewed, type Approval } from '../approval';
import type { AnswerInput, Question } from '../protocol';
import { cameTooLate, failureText, type Sidecars } from '../sidecars';
import type { Threads } from '../threads';
import { answerIn, questionIdIn } from './arguments';
import { register } from './register';

export function registerQuestionCommands(sidecars: Sidecars, approval: Approval, threads: Threads): vscode.Disposable {
    const { state } = sidecars;
    /** The question that an argument names, that the active editor shows, the only one, or one that the user picks. */
    const questionOf = async (argument: unknown, take: (question: Question) => boolean = () => true) => {
        const named = questionIdIn(argument);
        if (named !== undefined) {
            return state.openQuestion(named);
        }
        const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
        const uri =
            input instanceof vscode.TabInputTextDiff ? input.modified : vscode.window.activeTextEditor?.document.uri;
        const shown = approval.questionOf(uri);
        if (shown && take(shown)) {
            return shown;
        }
        const open = state.openQuestions().filter(take);
        if (open.length <= 1) {
            return open[0];
        }
        const items = open.map((question) => ({ label: question.title, question }));
        return (await vscode.window.showQuickPick(items, { title: 'Which question?' }))?.question;
    };
    const reveal = async (question: Question | undefined) => {
        if (!question) {
            return;
        }
        if (isReviewed(question)) {
            await approval.open(question);
            return;
        }
        const uri = question.place && sidecars.fileUri(question.run, question.place.path);
        if (uri && question.place) {
            const { start } = question.place.range;
            const position = new vscode.Position(start.line, start.utf16);
            await vscode.window.showTextDocument(uri, { selection: new vscode.Range(position, position) });
        } else {
            await vscode.commands.executeCommand('outrigger.panel.focus');
        }
    };
    const step = async (by: 1 | -1) => {
        const open = state.openQuestions();
        const uri = vscode.window.activeTextEditor?.document.uri;
        const shown = approval.questionOf(uri);
        const at = open.findIndex((question) => question.id === shown?.id);
        await reveal(open[at === -1 ? 0 : (at + by + open.length) % open.length]);
    };
    return register({
        'outrigger.answer': async (argument: unknown, ...words: unknown[]) => {
            // A comment thread's button gives its thread.
            const question = threads.questionOf(argument) ?? (await questionOf(argument));
            if (!question) {
                return;
            }
            const given =
                answerIn(argument) ?? (words.length > 0 ? answerInWords(question, words.join(' ')) : undefined);
            const answer = given ?? (await askForAnswer(question, approval));
            if (answer) {
                await sendAnswer(sidecars, question, answer);
            }
        },
        'outrigger.review': async (argument: unknown) => {
            const question = await questionOf(argument, isReviewed);
            if (question) {
                await approval.open(question);
            }
        },
        'outrigger.reveal': async (argument: unknown) => reveal(await questionOf(argument)),
        'outrigger.nextQuestion': () => step(1),
        'outrigger.previousQuestion': () => step(-1),
        'outrigger.accept': async (argument: unknown) => {
            const question = await questionOf(argument, isReviewed);
            if (question) {
                await approval.accept(question);
            }
        },
        'outrigger.completeMerge': async () => {
            const question = await questionOf(undefined, isReviewed);
            if (question) {
                await approval.accept(question);
            }
        },
        'outrigger.keepMine': async (argument: unknown) => {
            const question = await questionOf(argument, isOverwrite);
            if (question) {
                await approval.keepMine(question);
            }
        },
        'outrigger.mergeEditor': async (argument: unknown) => {
            const question = await questionOf(argument, isOverwrite);
            if (question) {
                await approval.merge(question);
            }
        },
        'outrigger.mineHere': (line: unknown) => approval.takeSide('user', typeof line === 'number' ? line : undefined),
        'outrigger.theirsHere': (line: unknown) =>
            approval.takeSide('agent', typeof line === 'number' ? line : undefined),
    });
}

async function askForAnswer(question: Question, approval: Approval): Promise<AnswerInput | undefined> {
    if (isReviewed(question)) {
        await approval.open(question);
        return undefined;
    }
    const own = question.freeText ? [{ label: '$(edit) In my own words…', detail: '', answer: undefined }] : [];
    const offered = offeredAnswers(question).map(({ label, effect, answer }) => ({ label, detail: effect, answer }));
    const chosen = await vscode.window.showQuickPick([...offered, ...own], {
        title: question.title,
        placeHolder: question.detail.split('\n')[0] ?? '',
        ignoreFocusOut: true,
    });
    if (!chosen || chosen.answer) {
        return chosen?.answer;
    }
    const words = await vscode.window.showInputBox({ title: question.title, ignoreFocusOut: true });
    return words === undefined ? undefined : answerInWords(question, words);
}

async function sendAnswer(sidecars: Sidecars, question: Question, answer: AnswerInput): Promise<void> {
    try {
        await sidecars.answer(question, answer);
    } catch (error) {
        const text = cameTooLate(error)
            ? failureText(error)
            : `Failed to answer “${question.title}”: ${failureText(error)}`;
        void vscode.window.showWarningMessage(text);
    }
}
