// Questions with a place as comment threads there: the offered answers as links, a box for words. A thread goes when its
// question is resolved, by whomever.

import * as vscode from 'vscode';
import { answerInWords, offeredAnswers } from './answers';
import { questionMarkdown } from './questionMarkdown';
import type { Question, QuestionId } from './protocol';
import { failureText, type Sidecars } from './sidecars';

export class Threads implements vscode.Disposable {
    readonly #controller: vscode.CommentController;
    readonly #threads = new Map<QuestionId, vscode.CommentThread>();
    readonly #subscriptions: vscode.Disposable[];

    constructor(private readonly sidecars: Sidecars) {
        this.#controller = vscode.comments.createCommentController('outrigger', 'Outrigger');
        this.#controller.options = { prompt: 'Answer in your own words', placeHolder: 'Answer in your own words' };
        this.#subscriptions = [
            this.#controller,
            sidecars.onDidOpenQuestion((question) => this.#show(question)),
            sidecars.onDidResolveQuestion((question) => this.#hide(question.id)),
            vscode.commands.registerCommand('outrigger.reply', (reply: vscode.CommentReply) => this.#reply(reply)),
        ];
    }

    /** The document in which a question has a thread. */
    placeOf(id: QuestionId): vscode.Uri | undefined {
        return this.#threads.get(id)?.uri;
    }

    /** The open question of a comment thread, as VS Code gives it to a button's command. */
    questionOf(argument: unknown): Question | undefined {
        const id = [...this.#threads].find(([, thread]) => thread === argument)?.[0];
        return id === undefined ? undefined : this.sidecars.state.openQuestion(id);
    }

    dispose(): void {
        for (const subscription of this.#subscriptions) {
            subscription.dispose();
        }
    }

    #show(question: Question): void {
        const { place, kind } = question;
        const uri = place && this.sidecars.fileUri(question.run, place.path);
        // An overwrite is answered in its diff, not between the lines that it is about.
        if (!uri || kind.kind === 'overwrite') {
            return;
        }
        const { start, end } = place.range;
        // Whole lines end before the next one begins, and the thread shall be below the line that it is about.
        const last = end.utf16 === 0 && end.line > start.line ? [end.line - 1, start.utf16] : [end.line, end.utf16];
        const range = new vscode.Range(start.line, start.utf16, ...(last as [number, number]));
        const body = new vscode.MarkdownString(questionMarkdown(question, offeredAnswers(question)));
        body.isTrusted = { enabledCommands: ['outrigger.answer'] };
        const thread = this.#controller.createCommentThread(uri, range, [
            { body, mode: vscode.CommentMode.Preview, author: { name: 'Outrigger' } },
        ]);
        thread.label = question.title;
        thread.contextValue = question.freeText ? 'words' : 'choices';
        thread.canReply = question.freeText;
        thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
        this.#threads.set(question.id, thread);
    }

    #hide(id: QuestionId): void {
        this.#threads.get(id)?.dispose();
        this.#threads.delete(id);
    }

    async #reply({ thread, text }: vscode.CommentReply): Promise<void> {
        const question = this.questionOf(thread);
        const answer = question && answerInWords(question, text);
        if (!question || !answer) {
            return;
        }
        try {
            await this.sidecars.answer(question, answer);
        } catch (error) {
            void vscode.window.showErrorMessage(`Failed to answer “${question.title}”: ${failureText(error)}`);
        }
    }
}
