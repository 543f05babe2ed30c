// Bundles the extension and its panel; `--unit` and `--host` bundle the tests instead.
import { readdirSync, rmSync } from 'node:fs';
import { build } from 'esbuild';

const production = process.argv.includes('--production');
const common = { bundle: true, logLevel: 'warning', minify: production, sourcemap: !production, legalComments: 'none' };
const node = { ...common, platform: 'node', format: 'cjs', target: 'node20', external: ['vscode'] };

const tests = (folder) =>
    readdirSync(folder)
        .filter((name) => name.endsWith('.test.ts'))
        .map((name) => `${folder}/${name}`);

if (process.argv.includes('--unit')) {
    rmSync('dist/unit', { recursive: true, force: true });
    await build({ ...node, entryPoints: tests('tests/unit'), outdir: 'dist/unit' });
} else if (process.argv.includes('--host')) {
    await build({
        ...node,
        entryPoints: ['tests/host/index.ts', 'tests/host/roots.ts', 'tests/host/untrusted.ts'],
        outdir: 'dist/host',
    });
} else {
    if (production) {
        // Nothing that is left over may be packaged.
        rmSync('dist', { recursive: true, force: true });
    }
    await build({ ...node, entryPoints: ['src/extension.ts'], outfile: 'dist/extension.js' });
    await build({
        ...common,
        platform: 'browser',
        format: 'iife',
        target: 'chrome130',
        entryPoints: ['src/panel/main.ts'],
        outfile: 'dist/panel.js',
    });
}
