// Checks a TypeScript project with its own compiler and prints one JSON object per diagnostic: ranges, codes and related
// places that the compiler's text lacks. Where the compiler has no such interface it is run itself, and its text is read.
'use strict';
const fs = require('fs');
const path = require('path');
const childProcess = require('child_process');

const [, , root, buildInfo] = process.argv;

function missing() {
    process.stderr.write('tsc: command not found: the project has no typescript of its own\n');
    process.exit(127);
}

function findCompiler() {
    const name = process.platform === 'win32' ? 'tsc.cmd' : 'tsc';
    for (let folder = root; ; folder = path.dirname(folder)) {
        const file = path.join(folder, 'node_modules', '.bin', name);
        if (fs.existsSync(file)) {
            return file;
        }
        if (folder === path.dirname(folder)) {
            return undefined;
        }
    }
}

function runCompiler() {
    const tsc = findCompiler();
    if (!tsc) {
        missing();
    }
    const args = ['--noEmit', '--pretty', 'false', '-p', '.', '--incremental', '--tsBuildInfoFile', buildInfo];
    const ended = childProcess.spawnSync(tsc, args, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' });
    process.exit(ended.status ?? 1);
}

let ts;
try {
    ts = require(require.resolve('typescript', { paths: [root] }));
} catch {
    runCompiler();
}
if (!ts.createIncrementalProgram || !ts.getParsedCommandLineOfConfigFile) {
    runCompiler();
}

const said = [];
const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: (diagnostic) => said.push(diagnostic) };
const parsed = ts.getParsedCommandLineOfConfigFile(
    path.join(root, 'tsconfig.json'),
    { noEmit: true, incremental: true, tsBuildInfoFile: buildInfo },
    host,
);
if (parsed && parsed.fileNames.length === 0 && parsed.projectReferences) {
    // A solution: its projects are built, which only the compiler itself does.
    runCompiler();
}
if (parsed) {
    const program = ts.createIncrementalProgram({
        rootNames: parsed.fileNames,
        options: parsed.options,
        configFileParsingDiagnostics: ts.getConfigFileParsingDiagnostics(parsed),
        projectReferences: parsed.projectReferences,
    });
    said.push(...program.getConfigFileParsingDiagnostics(), ...program.getOptionsDiagnostics());
    said.push(...program.getSyntacticDiagnostics());
    if (said.length === 0 || said.every((one) => one.file)) {
        said.push(...program.getGlobalDiagnostics(), ...program.getSemanticDiagnostics());
    }
    program.emit();
}

function point(file, at) {
    return file.getLineAndCharacterOfPosition(at);
}

function render(one) {
    const item = {
        code: `TS${one.code}`,
        category: one.category,
        message: ts.flattenDiagnosticMessageText(one.messageText, '\n'),
    };
    if (one.file && one.start !== undefined) {
        item.file = one.file.fileName;
        item.range = { start: point(one.file, one.start), end: point(one.file, one.start + (one.length || 0)) };
    }
    if (one.reportsUnnecessary) {
        item.unnecessary = true;
    }
    if (one.reportsDeprecated) {
        item.deprecated = true;
    }
    item.related = (one.relatedInformation || []).map((other) =>
        other.file && other.start !== undefined
            ? {
                  file: other.file.fileName,
                  start: point(other.file, other.start),
                  end: point(other.file, other.start + (other.length || 0)),
                  message: ts.flattenDiagnosticMessageText(other.messageText, '\n'),
              }
            : null,
    );
    return JSON.stringify(item);
}

const all = ts.sortAndDeduplicateDiagnostics(said);
const lines = all.map(render);
lines.push('');
process.exitCode = all.some((one) => one.category === ts.DiagnosticCategory.Error) ? 2 : 0;
process.stdout.write(lines.join('\n'));
