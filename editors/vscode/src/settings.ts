// From settings to what a run is started with. Pure.

import type { CommandPolicy, ConflictPolicy, MergePolicy, RunStartParams } from './protocol';

/** The part of VS Code's configuration object that is read here. */
export interface Configuration {
    get<T>(name: string, fallback: T): T;
}

export function startParams(prompt: string, configuration: Configuration): RunStartParams {
    const model = configuration.get('model', '').trim();
    return {
        prompt,
        ...(model === '' ? {} : { model }),
        policy: {
            conflict: configuration.get<ConflictPolicy>('policy.conflict', 'ask'),
            merge: configuration.get<MergePolicy>('policy.merge', 'auto'),
            commands: configuration.get<CommandPolicy>('policy.commands', 'ask'),
        },
        budget: {
            activeS: configuration.get('budget.activeSeconds', 900),
            tokens: configuration.get('budget.tokens', 100_000),
            iterations: configuration.get('budget.iterations', 50),
        },
    };
}

/** Providers whose keys can be kept for the sidecar, with the variable in which it looks for each. */
export const providers = [
    { name: 'Anthropic', variable: 'ANTHROPIC_API_KEY' },
    { name: 'OpenAI', variable: 'OPENAI_API_KEY' },
    { name: 'Google Gemini', variable: 'GEMINI_API_KEY' },
    { name: 'OpenRouter', variable: 'OPENROUTER_API_KEY' },
] as const;
