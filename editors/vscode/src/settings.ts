// The sidecar's settings as VS Code has them. Pure.

import { serverSettings, type ServerSetting } from './serverSettings';

/** The part of VS Code's configuration object that is read here. */
export interface Configuration {
    inspect(name: string):
        | {
              globalValue?: unknown;
              workspaceValue?: unknown;
              workspaceFolderValue?: unknown;
          }
        | undefined;
}

/**
 * What the user has set in VS Code, in the sidecar's own shape. Defaults are left out: what an editor sends lies over the
 * user's settings files, and would hide them.
 */
export function explicitSettings(configuration: Configuration): Record<string, unknown> {
    const settings: Record<string, unknown> = {};
    for (const { name } of serverSettings) {
        const value = explicitValue(configuration, name);
        if (value !== undefined) {
            put(settings, name.split('.'), value);
        }
    }
    return settings;
}

/** What was set for one name, the nearest to the folder; `undefined`: nothing was. */
export function explicitValue(configuration: Configuration, name: string): unknown {
    const set = configuration.inspect(name);
    const value = set?.workspaceFolderValue ?? set?.workspaceValue ?? set?.globalValue;
    // A field that was emptied in the settings page means the same as one that was never filled.
    return value === null || value === '' ? undefined : value;
}

export function serverSetting(name: string): ServerSetting | undefined {
    return serverSettings.find((setting) => setting.name === name);
}

function put(settings: Record<string, unknown>, [first, ...rest]: string[], value: unknown): void {
    if (first === undefined) {
        return;
    }
    if (rest.length === 0) {
        settings[first] = value;
        return;
    }
    const below = (settings[first] ?? {}) as Record<string, unknown>;
    settings[first] = below;
    put(below, rest, value);
}
