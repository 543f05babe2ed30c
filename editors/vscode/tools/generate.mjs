// What of this extension is made from the program, so that both always say the same: the types of the protocol, and the
// settings with their descriptions, defaults and choices, in the manifest and for the code.
//
// node tools/generate.mjs [--check], with the program in OUTRIGGER_BIN or on PATH. `--check` only says what is stale.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';

const program = process.env.OUTRIGGER_BIN || 'outrigger';
const ask = (...words) => execFileSync(program, words, { encoding: 'utf8', maxBuffer: 1 << 26 });

const MANIFEST = 'package.json';
const SETTINGS = 'src/serverSettings.ts';
/** Title of the manifest's part that is made here; the other part is written by hand. */
const TITLE = 'Runs';

const schema = JSON.parse(ask('config', 'schema'));
const listed = JSON.parse(ask('config', 'list'));
// How models are reached, and where keys are sent, is said in the user's own file only; the program takes it from no editor.
const settings = listed.filter(({ name, usersOnly }) => !usersOnly && !name.includes('*')).map(describe);

const files = {
    'src/protocol.ts': ask('protocol', '--typescript'),
    [SETTINGS]: await pretty(SETTINGS, code(settings)),
    [MANIFEST]: await pretty(MANIFEST, JSON.stringify(manifest(JSON.parse(readFileSync(MANIFEST, 'utf8'))))),
};
const stale = Object.entries(files).filter(([name, text]) => read(name) !== text);
for (const [name, text] of stale) {
    if (process.argv.includes('--check')) {
        console.error(`${name} is stale: run \`npm run generate\``);
        process.exitCode = 1;
    } else {
        writeFileSync(name, text);
    }
}

function manifest(whole) {
    const { contributes, capabilities } = whole;
    const own = [contributes.configuration].flat().filter(({ title }) => title !== TITLE);
    const properties = Object.fromEntries(
        settings.map((setting, index) => [`outrigger.${setting.name}`, property(setting, index + 1)]),
    );
    contributes.configuration = [...own, { title: TITLE, properties }];
    // What a folder's own files say must not count before the user trusts them.
    const executes = ['outrigger.path', 'outrigger.environment'];
    capabilities.untrustedWorkspaces.restrictedConfigurations = [...executes, ...Object.keys(properties)];
    return whole;
}

/**
 * One setting as the manifest says it. Its default is nothing: VS Code never writes a value that is the default, but what
 * is set here lies over the project's file, which may say something else.
 */
function property({ about, type, choices, minimum, value, items }, order) {
    const otherwise = `As \`outrigger.toml\` says${value === null ? '' : `, else ${inWords(value)}`}.`;
    return {
        type: [...new Set([type, 'null'].flat())],
        default: null,
        markdownDescription: `${about} Unset: ${otherwise.charAt(0).toLowerCase()}${otherwise.slice(1)}`,
        ...(choices.length > 0
            ? {
                  enum: [null, ...choices.map((choice) => choice.value)],
                  enumItemLabels: ['(unset)', ...choices.map((choice) => choice.value)],
                  enumDescriptions: [otherwise, ...choices.map((choice) => choice.about)],
              }
            : {}),
        ...(minimum === undefined ? {} : { minimum }),
        ...(items === undefined ? {} : { items }),
        scope: 'resource',
        order,
    };
}

function inWords(value) {
    return typeof value === 'string' ? `\`${value}\`` : `\`${JSON.stringify(value)}\``;
}

function describe({ name, about, default: value }) {
    const found = name.split('.').reduce((at, part) => resolve(at).properties[part], schema);
    const { type, choices } = kind(found);
    const { minimum, items } = resolve(found);
    return {
        name,
        about: about.replace(/\s*\n\s*/g, ' '),
        value,
        type,
        choices,
        minimum,
        ...(items ? { items: resolve(items) } : {}),
    };
}

/** What a reference stands for. */
function resolve(node) {
    const reference = node.$ref ?? node.anyOf?.find((one) => one.$ref)?.$ref;
    return reference === undefined ? node : schema.$defs[reference.split('/').at(-1)];
}

function kind(node) {
    const meant = resolve(node);
    const nullable = node.anyOf?.some((one) => one.type === 'null') ?? false;
    const choices = (meant.oneOf ?? [meant]).flatMap((one) => {
        const about = (one.description ?? '').replace(/\s*\n\s*/g, ' ');
        return one.const === undefined
            ? (one.enum ?? []).map((value) => ({ value, about: '' }))
            : [{ value: one.const, about }];
    });
    const plain = choices.length > 0 ? 'string' : meant.type;
    return { type: nullable ? [plain, 'null'] : plain, choices };
}

function code(settings) {
    const lines = settings.map(({ name, about, value, choices }) =>
        JSON.stringify({ name, about, default: value, choices }),
    );
    return `// Made by \`npm run generate\` from \`outrigger config schema\`. Do not edit.

/** A setting of the sidecar that an editor may send. */
export interface ServerSetting {
    /** As the sidecar calls it; \`outrigger.\` before it is its name in VS Code. */
    name: string;
    about: string;
    default: unknown;
    /** What it may be, where that is a list. */
    choices: { value: string; about: string }[];
}

export const serverSettings: readonly ServerSetting[] = [${lines.join(',\n')}];
`;
}

async function pretty(name, text) {
    return format(text, { ...(await resolveConfig(name)), filepath: name });
}

function read(name) {
    try {
        return readFileSync(name, 'utf8');
    } catch {
        return undefined;
    }
}
