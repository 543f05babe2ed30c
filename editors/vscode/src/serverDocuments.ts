// The sidecars' read-only documents: the sides of an overwrite, what a run changed, what a gate said in its own words.

import * as vscode from 'vscode';
import type { Question, QuestionId } from './protocol';
import { encodedUri, readChangedPath, readGatePath, readSidePath, serverUri, SIDE_SCHEME } from './questionUri';
import type { Sidecars } from './sidecars';

/** After a reload VS Code shows documents before the sidecar runs. */
const PATIENCE_MS = 15_000;

export class ServerDocuments implements vscode.TextDocumentContentProvider, vscode.Disposable {
    readonly #registration: vscode.Disposable;

    constructor(private readonly sidecars: Sidecars) {
        this.#registration = vscode.workspace.registerTextDocumentContentProvider(SIDE_SCHEME, this);
    }

    async provideTextDocumentContent({ path, query }: vscode.Uri): Promise<string> {
        const side = readSidePath(path);
        if (side) {
            const question = await this.known(side.question);
            return question ? this.sidecars.readDocument(question.run, serverUri(question.id, side.side)) : '';
        }
        const run = readChangedPath(query);
        if (run !== undefined) {
            return this.sidecars.readDocument(run, encodedUri(query));
        }
        return readGatePath(path) === undefined ? '' : this.#ofAnyFolder(encodedUri(path));
    }

    /** A question that may become known soon. */
    known(id: QuestionId): Promise<Question | undefined> {
        const { state } = this.sidecars;
        const known = state.questions.get(id);
        if (known) {
            return Promise.resolve(known);
        }
        return new Promise((resolve) => {
            const finish = (question: Question | undefined) => {
                clearTimeout(timer);
                waiting.dispose();
                resolve(question);
            };
            const timer = setTimeout(() => finish(undefined), PATIENCE_MS);
            const waiting = this.sidecars.onDidChange(() => {
                const question = state.questions.get(id);
                if (question) {
                    finish(question);
                }
            });
        });
    }

    dispose(): void {
        this.#registration.dispose();
    }

    /** Gates have the same names in every folder; each process tells what its own said. */
    async #ofAnyFolder(uri: string): Promise<string> {
        const texts = await Promise.all(
            this.sidecars.all().map((sidecar) =>
                sidecar.request('outrigger/document/read', { uri }).then(
                    ({ text }) => text,
                    // This folder has no such gate.
                    () => '',
                ),
            ),
        );
        return texts.filter((text) => text !== '').join('\n');
    }
}
