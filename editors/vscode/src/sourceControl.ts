// Hands a message to the box of VS Code's source control view. Never touches the index: committing is the user's.

import * as vscode from 'vscode';
import { commitMessage } from './commitMessage';
import type { RunState } from './sidecarState';

/** The part of the built-in Git extension's interface that is used here. */
interface GitExtension {
    getAPI(version: 1): { getRepository(uri: vscode.Uri): { inputBox: { value: string } } | null };
}

export async function handToSourceControl(run: RunState, folder: vscode.WorkspaceFolder): Promise<void> {
    const message = commitMessage(run);
    const git = vscode.extensions.getExtension<GitExtension>('vscode.git');
    const repository = git && (await git.activate()).getAPI(1).getRepository(folder.uri);
    if (!repository) {
        await vscode.env.clipboard.writeText(message);
        void vscode.window.showInformationMessage(
            `${folder.name} is in no Git repository that VS Code knows. The message is on the clipboard.`,
        );
        return;
    }
    const { value } = repository.inputBox;
    if (value.trim() !== '' && value !== message) {
        const chosen = await vscode.window.showWarningMessage(
            'There is a message in the source control box already.',
            { modal: true, detail: value },
            'Replace it',
        );
        if (chosen === undefined) {
            return;
        }
    }
    repository.inputBox.value = message;
    await vscode.commands.executeCommand('workbench.view.scm');
}
