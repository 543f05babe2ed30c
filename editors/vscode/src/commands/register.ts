// Commands by their names.

import * as vscode from 'vscode';
import { failureText } from '../sidecars';

export type Commands = Record<string, (...args: never[]) => unknown>;

/** Registers commands; what fails in one is said with what was wanted. */
export function register(commands: Commands): vscode.Disposable {
    return vscode.Disposable.from(
        ...Object.entries(commands).map(([name, run]) => vscode.commands.registerCommand(name, run)),
    );
}

/** Does something and says when it fails; `what` completes "Failed to ". */
export async function saying<T>(what: string, act: () => Promise<T>): Promise<T | undefined> {
    try {
        return await act();
    } catch (error) {
        void vscode.window.showErrorMessage(`Failed to ${what}: ${failureText(error)}`);
        return undefined;
    }
}
