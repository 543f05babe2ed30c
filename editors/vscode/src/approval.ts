// Approving an overwrite in VS Code's own diff editor: left what is there, right what the agent wants, to be changed at
// will; or a plan, as a text to be changed at will. What is accepted is that text. Closing the tab answers nothing.

import * as vscode from 'vscode';
import { answerFromText, hunkPlaces, sameLines, withOtherSide, type HunkPlace, type ProposalTexts } from './answers';
import type { Overwrite, Question, QuestionId } from './protocol';
import { ProposalFiles } from './proposalFiles';
import { PROPOSAL_SCHEME, readSidePath, serverUri, SIDE_SCHEME, sidePath, type Side } from './questionUri';
import type { ServerDocuments } from './serverDocuments';
import { cameTooLate, failureText, type Sidecars } from './sidecars';

type OverwriteQuestion = Question & { kind: Overwrite & { kind: 'overwrite' } };

export function isOverwrite(question: Question | undefined): question is OverwriteQuestion {
    return question?.kind.kind === 'overwrite';
}

type PlanQuestion = Question & { kind: { kind: 'plan'; document: string } };

export function isPlan(question: Question | undefined): question is PlanQuestion {
    return question?.kind.kind === 'plan';
}

/** Whether the question is about a text that is looked at in an editor, and that can be changed there. */
export function isReviewed(question: Question | undefined): question is OverwriteQuestion | PlanQuestion {
    return isOverwrite(question) || isPlan(question);
}

export class Approval implements vscode.Disposable, vscode.CodeLensProvider, vscode.CodeActionProvider {
    readonly #texts = new Map<QuestionId, Promise<ProposalTexts>>();
    readonly #lensesChanged = new vscode.EventEmitter<void>();
    readonly onDidChangeCodeLenses = this.#lensesChanged.event;
    readonly #files: ProposalFiles;
    readonly #subscriptions: vscode.Disposable[];

    constructor(
        private readonly sidecars: Sidecars,
        private readonly documents: ServerDocuments,
    ) {
        this.#files = new ProposalFiles((path) => this.#proposal(path));
        const proposals: vscode.DocumentSelector = { scheme: PROPOSAL_SCHEME };
        this.#subscriptions = [
            vscode.workspace.registerFileSystemProvider(PROPOSAL_SCHEME, this.#files, { isCaseSensitive: true }),
            vscode.languages.registerCodeLensProvider(proposals, this),
            vscode.languages.registerCodeActionsProvider(proposals, this, {
                providedCodeActionKinds: [vscode.CodeActionKind.QuickFix],
            }),
            vscode.workspace.onDidChangeTextDocument(({ document }) => {
                if (document.uri.scheme === PROPOSAL_SCHEME) {
                    this.#lensesChanged.fire();
                }
            }),
            sidecars.onDidResolveQuestion((question) => {
                void this.#close(question.id);
            }),
        ];
    }

    /** Shows a question's diff. */
    async open(question: Question, options: { preserveFocus?: boolean } = {}): Promise<void> {
        if (isPlan(question)) {
            const { preserveFocus = false } = options;
            await vscode.window.showTextDocument(planUri(question), { preview: false, preserveFocus });
            return;
        }
        if (!isOverwrite(question)) {
            return;
        }
        const { path } = question.kind;
        await this.#textsOf(question);
        const line = question.kind.hunks[0]?.newStart ?? 0;
        await vscode.commands.executeCommand(
            'vscode.diff',
            this.#leftUri(question),
            proposalUri(question),
            titleOf(question, path),
            {
                preview: false,
                preserveFocus: options.preserveFocus ?? false,
                selection: new vscode.Range(line, 0, line, 0),
            } satisfies vscode.TextDocumentShowOptions,
        );
    }

    /** Accepts what the right side of a question's diff holds. */
    async accept(question: Question): Promise<void> {
        if (isPlan(question)) {
            const text = openDocument(planUri(question))?.getText();
            const isSame = text === undefined || sameLines(text, question.kind.document);
            const answer = isSame ? ({ type: 'takeAll' } as const) : ({ type: 'takeText', text } as const);
            await this.#send(question, () => this.sidecars.answer(question, answer));
            return;
        }
        if (!isOverwrite(question)) {
            return;
        }
        const texts = await this.#textsOf(question);
        const document = openDocument(proposalUri(question));
        const answer = document ? answerFromText(texts, document.getText()) : ({ type: 'takeAll' } as const);
        if (answer.type === 'keepMine') {
            // Nothing of the proposal is left: that is the other answer, and it has a reason to ask for.
            await this.keepMine(question);
            return;
        }
        await this.#send(question, () => this.sidecars.answer(question, answer));
    }

    /** Leaves the file as it is; asks for the reason, which may be empty. Escape answers nothing. */
    async keepMine(question: Question): Promise<void> {
        const reason = await vscode.window.showInputBox({
            title: question.title,
            prompt: 'Why keep yours? The agent is told. Leave it empty to give no reason.',
            placeHolder: 'I am rewriting this function; leave it alone',
            ignoreFocusOut: true,
        });
        if (reason === undefined) {
            return;
        }
        const told = reason.trim() === '' ? null : reason.trim();
        await this.#send(question, () => this.sidecars.answer(question, { type: 'keepMine', reason: told }));
    }

    /** Puts one side of the change at the cursor, or at `line`, in for the other. */
    async takeSide(holds: 'agent' | 'user', line?: number): Promise<void> {
        const editor = vscode.window.activeTextEditor;
        if (editor?.document.uri.scheme !== PROPOSAL_SCHEME) {
            return;
        }
        const at = line ?? editor.selection.active.line;
        const { document } = editor;
        const question = this.questionOf(document.uri);
        if (!isOverwrite(question)) {
            return;
        }
        const texts = await this.#textsOf(question);
        const places = hunkPlaces(texts, document.getText());
        const place = places.find((one) => touches(one, at) && one.holds !== holds);
        if (!place) {
            void vscode.window.setStatusBarMessage(
                places.length === 0
                    ? 'This version was edited; its changes can no longer be told apart'
                    : 'There is no such change at the cursor',
                4000,
            );
            return;
        }
        const edit = new vscode.WorkspaceEdit();
        edit.replace(document.uri, wholeOf(document), withOtherSide(texts, places, place));
        await vscode.workspace.applyEdit(edit);
    }

    /** The question whose proposal or side is in a document. */
    questionOf(uri: vscode.Uri | undefined): Question | undefined {
        const named =
            uri && (uri.scheme === PROPOSAL_SCHEME || uri.scheme === SIDE_SCHEME) ? readSidePath(uri.path) : undefined;
        return named && this.sidecars.state.openQuestion(named.question);
    }

    /** Whether both the agent and somebody else changed the file, so that a three-way view helps. */
    static bothChanged(question: Question): boolean {
        return isOverwrite(question) && question.kind.base !== null && question.kind.current !== null;
    }

    static resource(question: Question): vscode.Uri | undefined {
        return isOverwrite(question) ? proposalUri(question) : undefined;
    }

    /** Shows base, both sides and the result in VS Code's merge editor; the result is the proposal's document. */
    async merge(question: Question): Promise<void> {
        if (!isOverwrite(question)) {
            return;
        }
        const { path } = question.kind;
        await vscode.commands.executeCommand('_open.mergeEditor', {
            base: sideUri(question, 'base', path),
            input1: { uri: sideUri(question, 'current', path), title: 'Yours', description: path },
            input2: { uri: sideUri(question, 'proposed', path), title: 'The agent’s', description: path },
            output: proposalUri(question),
        });
    }

    async provideCodeLenses(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
        const lenses: vscode.CodeLens[] = [];
        for (const place of await this.#places(document)) {
            const range = new vscode.Range(place.line, 0, place.line, 0);
            const [title, command] =
                place.holds === 'agent'
                    ? ['$(discard) Use mine here', 'outrigger.mineHere']
                    : ['$(redo) Use the agent’s here', 'outrigger.theirsHere'];
            lenses.push(new vscode.CodeLens(range, { title, command, arguments: [place.line] }));
        }
        return lenses;
    }

    async provideCodeActions(document: vscode.TextDocument, range: vscode.Range): Promise<vscode.CodeAction[]> {
        const places = (await this.#places(document)).filter((place) => touches(place, range.start.line));
        return places.map((place) => {
            const title = place.holds === 'agent' ? 'Use mine here' : 'Use the agent’s here';
            const action = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
            const command = place.holds === 'agent' ? 'outrigger.mineHere' : 'outrigger.theirsHere';
            action.command = { title, command, arguments: [place.line] };
            return action;
        });
    }

    dispose(): void {
        for (const subscription of this.#subscriptions) {
            subscription.dispose();
        }
        this.#files.dispose();
        this.#lensesChanged.dispose();
    }

    async #places(document: vscode.TextDocument): Promise<HunkPlace[]> {
        const question = this.questionOf(document.uri);
        return isOverwrite(question) ? hunkPlaces(await this.#textsOf(question), document.getText()) : [];
    }

    async #send(question: Question, send: () => Promise<void>): Promise<void> {
        try {
            await send();
        } catch (error) {
            if (cameTooLate(error)) {
                void vscode.window.showInformationMessage(failureText(error));
            } else {
                void vscode.window.showErrorMessage(`Failed to answer “${question.title}”: ${failureText(error)}`);
            }
        }
    }

    #leftUri(question: OverwriteQuestion): vscode.Uri {
        return sideUri(question, 'current', question.kind.path);
    }

    #textsOf(question: OverwriteQuestion): Promise<ProposalTexts> {
        let texts = this.#texts.get(question.id);
        if (!texts) {
            texts = Promise.all([this.#read(question, 'current'), this.#read(question, 'proposed')]).then(
                ([current, proposed]) => ({ current, proposed, hunks: question.kind.hunks }),
            );
            this.#texts.set(question.id, texts);
            // Asked again the next time; who waits for it is told.
            texts.catch(() => this.#texts.delete(question.id));
        }
        return texts;
    }

    #read(question: Question, side: Side): Promise<string> {
        return this.sidecars.readDocument(question.run, serverUri(question.id, side));
    }

    /** The agent's text, for a proposal that was not changed yet. */
    async #proposal(path: string): Promise<string | undefined> {
        const named = readSidePath(path);
        const question = named && (await this.documents.known(named.question));
        if (isPlan(question)) {
            return question.kind.document;
        }
        return isOverwrite(question) ? (await this.#textsOf(question)).proposed : undefined;
    }

    /** Closes every view of a question that is no longer open. */
    async #close(id: QuestionId): Promise<void> {
        this.#texts.delete(id);
        const tabs = vscode.window.tabGroups.all
            .flatMap((group) => group.tabs)
            .filter((tab) => tabUris(tab).some((uri) => readSidePath(uri.path)?.question === id));
        for (const tab of tabs) {
            // Kept in memory first: an edited proposal would make VS Code ask whether to save it, and it has been used.
            for (const document of tabUris(tab).map(openDocument)) {
                if (document?.isDirty === true) {
                    await document.save();
                }
            }
        }
        if (tabs.length > 0) {
            await vscode.window.tabGroups.close(tabs, true);
        }
        // Extensions are not told what a merge editor's tab shows, only its text editors.
        const editor = vscode.window.activeTextEditor;
        if (
            editor &&
            editor.document.uri.scheme === PROPOSAL_SCHEME &&
            readSidePath(editor.document.uri.path)?.question === id
        ) {
            await editor.document.save();
            await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
        }
        this.#files.forget((path) => readSidePath(path)?.question === id);
    }
}

function titleOf(question: OverwriteQuestion, path: string): string {
    const { proposed, current } = question.kind;
    if (proposed === null) {
        return `Delete ${path}?`;
    }
    return current === null ? `Bring back ${path}?` : `Overwrite ${path}?`;
}

function proposalUri(question: OverwriteQuestion): vscode.Uri {
    return vscode.Uri.from({ scheme: PROPOSAL_SCHEME, path: sidePath(question.id, 'proposed', question.kind.path) });
}

/** Its name is what the menus know a plan by. */
function planUri(question: PlanQuestion): vscode.Uri {
    return vscode.Uri.from({ scheme: PROPOSAL_SCHEME, path: sidePath(question.id, 'proposed', 'Plan to follow.md') });
}

function sideUri(question: Question, side: Side, path: string): vscode.Uri {
    return vscode.Uri.from({ scheme: SIDE_SCHEME, path: sidePath(question.id, side, path) });
}

function tabUris(tab: vscode.Tab): vscode.Uri[] {
    const { input } = tab;
    const uris =
        input instanceof vscode.TabInputTextDiff
            ? [input.original, input.modified]
            : input instanceof vscode.TabInputText
              ? [input.uri]
              : [];
    return uris.filter((uri) => uri.scheme === PROPOSAL_SCHEME || uri.scheme === SIDE_SCHEME);
}

function touches(place: HunkPlace, line: number): boolean {
    return place.line <= line && line < place.line + Math.max(1, place.lines);
}

function openDocument(uri: vscode.Uri): vscode.TextDocument | undefined {
    return vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
}

function wholeOf(document: vscode.TextDocument): vscode.Range {
    return document.validateRange(new vscode.Range(0, 0, document.lineCount, 0));
}
