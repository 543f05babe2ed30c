// Which program is the sidecar: decides from what is configured, performs nothing.

/** Where a program comes from, in the order in which they are asked. */
export type BinarySource = 'setting' | 'bundled' | 'path';

export interface BinaryCandidate {
    source: BinarySource;
    file: string;
}

export interface BinaryPlaces {
    /** The setting `outrigger.path`, as written. */
    setting: string;
    /** The extension's `bin` folder. */
    bundledFolder: string;
    /** The variable `PATH`. */
    searchPath: string;
    homeFolder: string;
    platform: NodeJS.Platform;
}

export type BinarySearch =
    | { found: BinaryCandidate }
    /** `tried` are the files that were looked at; `reason` is for people. */
    | { found: undefined; reason: string; tried: string[] };

/**
 * The files that may be the sidecar, best first. A setting stands alone: who names a program does not want another one
 * in silence.
 */
export function binaryCandidates(places: BinaryPlaces): BinaryCandidate[] {
    const windows = places.platform === 'win32';
    const separator = windows ? '\\' : '/';
    const name = windows ? 'outrigger.exe' : 'outrigger';
    const setting = places.setting.trim();
    if (setting !== '') {
        return [{ source: 'setting', file: setting.replace(/^~(?=[/\\]|$)/, () => places.homeFolder) }];
    }
    const folders = places.searchPath.split(windows ? ';' : ':').filter((folder) => folder !== '');
    return [
        { source: 'bundled', file: join(places.bundledFolder, name, separator) },
        ...folders.map((folder): BinaryCandidate => ({ source: 'path', file: join(folder, name, separator) })),
    ];
}

/** The first candidate that can be run. */
export async function findBinary(
    candidates: BinaryCandidate[],
    isProgram: (file: string) => Promise<boolean>,
): Promise<BinarySearch> {
    for (const candidate of candidates) {
        if (await isProgram(candidate.file)) {
            return { found: candidate };
        }
    }
    const first = candidates[0];
    const reason =
        first?.source === 'setting'
            ? `the setting outrigger.path names ${first.file}, which is not a program that can be run`
            : 'it is neither part of this extension for your platform nor on PATH';
    return { found: undefined, reason, tried: candidates.map((candidate) => candidate.file) };
}

function join(folder: string, name: string, separator: string): string {
    return folder.endsWith('/') || folder.endsWith(separator) ? folder + name : folder + separator + name;
}
