import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import typescript from 'typescript-eslint';

export default defineConfig(
    { ignores: ['dist/', 'src/protocol.ts', '**/*.mjs'] },
    js.configs.recommended,
    typescript.configs.strictTypeChecked,
    {
        languageOptions: {
            parserOptions: {
                project: ['tsconfig.json', 'src/panel/tsconfig.json'],
                tsconfigRootDir: import.meta.dirname,
            },
        },
        rules: {
            '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
            '@typescript-eslint/no-confusing-void-expression': 'off',
            // What VS Code makes has the shape of its classes and not their constructors.
            '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
            '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
        },
    },
    // `node --test` collects the promises itself.
    { files: ['tests/**'], rules: { '@typescript-eslint/no-floating-promises': 'off' } },
);
