// Saves a document because the sidecar asks for it: without a question, and as its text is.

import * as vscode from 'vscode';
import type { DocumentSaveResult } from './protocol';

export async function saveWithoutChanging(uri: vscode.Uri): Promise<DocumentSaveResult> {
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
    if (!document) {
        return { saved: false, error: `${uri.fsPath} is not open` };
    }
    try {
        // Only the active editor can be saved without formatters; VS Code has no such call for other documents.
        if (document.isDirty && vscode.window.activeTextEditor?.document === document) {
            await vscode.commands.executeCommand('workbench.action.files.saveWithoutFormatting');
        }
        // What formatters then change is reported to the sidecar as any other change.
        const saved = !document.isDirty || (await document.save());
        return saved ? { saved } : { saved, error: `VS Code did not save ${uri.fsPath}; its notification says why` };
    } catch (error) {
        return { saved: false, error: error instanceof Error ? error.message : String(error) };
    }
}
