// Commands that set things up: model, engine, policies, keys, the program.

import * as vscode from 'vscode';
import { failureText, type Sidecars } from '../sidecars';
import { offeredModels, stateText } from '../models';
import type { ProviderKeys } from '../providerKeys';
import { serverSetting } from '../settings';
import { serverSettings } from '../serverSettings';
import { chooseFolder } from '../starting';
import type { TroublePage } from '../trouble';
import { register, saying } from './register';

export interface SetupContext {
    sidecars: Sidecars;
    keys: ProviderKeys;
    trouble: TroublePage;
    log: vscode.LogOutputChannel;
}

export function registerSetupCommands({ sidecars, keys, trouble, log }: SetupContext): vscode.Disposable {
    return register({
        'outrigger.chooseModel': async () => {
            const folder = await chooseFolder();
            const model = folder && (await pickModel(sidecars, folder));
            if (model !== undefined) {
                await set('model', model === '' ? undefined : model, folder);
            }
        },
        'outrigger.pickModel': async (argument: unknown) => {
            const folders = vscode.workspace.workspaceFolders ?? [];
            const folder = folders.find(({ uri }) => uri.toString() === argument) ?? folders[0];
            return folder && pickModel(sidecars, folder);
        },
        'outrigger.chooseEngine': () => chooseValue(sidecars, 'engine'),
        'outrigger.choosePolicy': async (name: unknown) => {
            const policies = serverSettings.filter((setting) => setting.name.startsWith('policy.'));
            const items = policies.map((setting) => ({
                label: setting.name.slice('policy.'.length),
                description: setting.about,
                name: setting.name,
            }));
            const chosen =
                typeof name === 'string'
                    ? name
                    : (await vscode.window.showQuickPick(items, { title: 'Which policy?' }))?.name;
            if (chosen !== undefined) {
                await chooseValue(sidecars, chosen);
            }
        },
        'outrigger.setApiKey': () => saying('store the key', () => storeKey(sidecars, keys)),
        'outrigger.findProgram': async () => {
            const chosen = await vscode.window.showOpenDialog({ title: 'The outrigger program', canSelectMany: false });
            const [file] = chosen ?? [];
            if (file) {
                const configuration = vscode.workspace.getConfiguration('outrigger');
                await configuration.update('path', file.fsPath, vscode.ConfigurationTarget.Global);
            }
        },
        'outrigger.installProgram': () => {
            // Typed, not run: what is installed on a machine is its owner's decision.
            const terminal = vscode.window.createTerminal('Install Outrigger');
            terminal.show();
            terminal.sendText('cargo install --locked outrigger', false);
        },
        'outrigger.showLog': () => log.show(),
        'outrigger.showTrouble': () => trouble.show(),
        'outrigger.copyTrouble': () => trouble.copy(),
        'outrigger.showPanel': () => vscode.commands.executeCommand('outrigger.panel.focus'),
        'outrigger.openWalkthrough': () =>
            vscode.commands.executeCommand('workbench.action.openWalkthrough', 'outrigger.outrigger#start', false),
        'outrigger.restart': async () => {
            trouble.close();
            await sidecars.restart();
        },
    });
}

/** Sets something for the workspace, where one is open; in a folder of several for that folder. */
async function set(name: string, value: unknown, folder: vscode.WorkspaceFolder | undefined): Promise<void> {
    const several = (vscode.workspace.workspaceFolders ?? []).length > 1;
    const target =
        folder === undefined
            ? vscode.ConfigurationTarget.Global
            : several
              ? vscode.ConfigurationTarget.WorkspaceFolder
              : vscode.ConfigurationTarget.Workspace;
    await vscode.workspace.getConfiguration('outrigger', folder?.uri).update(name, value, target);
}

/** Offers what a setting may be, with what holds now and whence. */
async function chooseValue(sidecars: Sidecars, name: string): Promise<void> {
    const setting = serverSetting(name);
    const folder = await chooseFolder();
    if (!setting || !folder) {
        return;
    }
    const now = sidecars.settings(folder).find((one) => one.name === name);
    const items = [
        ...setting.choices.map(({ value, about }) => ({
            label: value,
            description: value === now?.value ? `now, from ${now.origin}` : '',
            detail: about,
            value,
        })),
        {
            label: '$(discard) As the project says',
            description: 'Nothing is set in VS Code',
            detail: '',
            value: undefined,
        },
    ];
    const chosen = await vscode.window.showQuickPick(items, { title: setting.about, matchOnDetail: true });
    if (chosen) {
        await set(name, chosen.value, folder);
    }
}

/** A model by its name; empty: none is to be set; `undefined`: the user left. */
async function pickModel(sidecars: Sidecars, folder: vscode.WorkspaceFolder): Promise<string | undefined> {
    const input = vscode.window.createQuickPick<vscode.QuickPickItem & { model: string }>();
    input.title = 'Which model?';
    input.placeholder = 'provider/model, or scripted:FILE';
    input.matchOnDescription = true;
    input.busy = true;
    const now = sidecars.model(folder);
    let offered: { label: string; description: string; model: string }[] = [];
    const show = () => {
        const typed = input.value.trim();
        const own =
            typed === '' || offered.some(({ model }) => model === typed)
                ? []
                : [{ label: typed, description: 'as typed', model: typed, alwaysShow: true }];
        const none = { label: '$(discard) As the project says', description: 'Nothing is set in VS Code', model: '' };
        input.items = [...own, ...offered, none];
    };
    show();
    sidecars.models(folder).then(
        (listed) => {
            offered = offeredModels(listed, now);
            input.busy = false;
            show();
        },
        (error: unknown) => {
            input.busy = false;
            input.placeholder = failureText(error);
        },
    );
    return new Promise((resolve) => {
        input.onDidChangeValue(show);
        input.onDidAccept(() => {
            resolve(input.selectedItems[0]?.model ?? input.value.trim());
            input.hide();
        });
        input.onDidHide(() => {
            resolve(undefined);
            input.dispose();
        });
        input.show();
    });
}

async function storeKey(sidecars: Sidecars, keys: ProviderKeys): Promise<void> {
    const folder = await chooseFolder();
    if (!folder) {
        return;
    }
    const [{ providers }, held] = await Promise.all([sidecars.models(folder), keys.names()]);
    const items = providers.map(({ provider, state }) => ({
        label: provider,
        description: held.includes(provider) ? 'a key is stored in VS Code' : stateText(state),
    }));
    const chosen = await vscode.window.showQuickPick(items, { title: 'The key of which provider?' });
    if (!chosen) {
        return;
    }
    const typed = await vscode.window.showInputBox({
        title: `Key for ${chosen.label}`,
        prompt: 'It goes to VS Code’s secret store and to the sidecar’s memory, nowhere else. Empty: forget it.',
        password: true,
        ignoreFocusOut: true,
    });
    if (typed !== undefined) {
        const key = typed.trim() === '' ? undefined : typed.trim();
        await keys.set(chosen.label, key);
        await sidecars.handOverKey(chosen.label, key);
    }
}
