// What can be done about a squiggle besides what the sidecar offers itself: its tool's own text.

import * as vscode from 'vscode';

const SCHEME = 'outrigger-said';

/** What the sidecar tells of a finding besides what VS Code shows. */
interface FindingData {
    gate?: unknown;
    rendered?: unknown;
}

export class FindingActions implements vscode.CodeActionProvider, vscode.Disposable {
    readonly #texts = new Map<string, string>();
    readonly #changed = new vscode.EventEmitter<vscode.Uri>();
    readonly #subscriptions: vscode.Disposable[];

    constructor() {
        this.#subscriptions = [
            this.#changed,
            vscode.languages.registerCodeActionsProvider({ scheme: 'file' }, this, {
                providedCodeActionKinds: [vscode.CodeActionKind.QuickFix],
            }),
            vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
                onDidChange: this.#changed.event,
                provideTextDocumentContent: ({ path }) => this.#texts.get(path) ?? '',
            }),
            vscode.commands.registerCommand('outrigger.showToolText', async (said?: ToolText) => {
                const text = said ?? (await chooseText());
                if (text) {
                    await this.#show(text);
                }
            }),
        ];
    }

    provideCodeActions(
        _document: vscode.TextDocument,
        _range: vscode.Range,
        { diagnostics }: vscode.CodeActionContext,
    ): vscode.CodeAction[] {
        return diagnostics.flatMap((diagnostic) => {
            const said = toolText(diagnostic);
            if (!said) {
                return [];
            }
            const title = `Show ${said.name}’s own text`;
            const action = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
            action.diagnostics = [diagnostic];
            action.command = { title, command: 'outrigger.showToolText', arguments: [said] };
            return [action];
        });
    }

    dispose(): void {
        for (const subscription of this.#subscriptions) {
            subscription.dispose();
        }
    }

    async #show({ name, text }: ToolText): Promise<void> {
        const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${name} says.txt` });
        this.#texts.set(uri.path, text);
        this.#changed.fire(uri);
        await vscode.window.showTextDocument(uri, { preview: true, viewColumn: vscode.ViewColumn.Beside });
    }
}

interface ToolText {
    name: string;
    text: string;
}

function toolText(diagnostic: vscode.Diagnostic): ToolText | undefined {
    // The language client keeps what came with a diagnostic beside VS Code's own fields.
    const { rendered } = (diagnostic as vscode.Diagnostic & { data?: FindingData }).data ?? {};
    return typeof rendered === 'string' && rendered.trim() !== ''
        ? { name: diagnostic.source ?? 'the tool', text: rendered }
        : undefined;
}

/** Of the problems at the cursor. */
async function chooseText(): Promise<ToolText | undefined> {
    const editor = vscode.window.activeTextEditor;
    const here = editor
        ? vscode.languages
              .getDiagnostics(editor.document.uri)
              .filter(({ range }) => range.intersection(editor.selection) !== undefined)
        : [];
    const items = here.flatMap((diagnostic) => {
        const said = toolText(diagnostic);
        return said ? [{ label: diagnostic.message.split('\n')[0] ?? '', description: said.name, said }] : [];
    });
    if (items.length === 0) {
        void vscode.window.showInformationMessage('No problem at the cursor has a text of its tool.');
        return undefined;
    }
    return items.length === 1
        ? items[0]?.said
        : (await vscode.window.showQuickPick(items, { title: 'What was said about which problem?' }))?.said;
}
