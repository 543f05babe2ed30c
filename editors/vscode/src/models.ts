// Models and providers in words. Pure.

import type { ModelsListResult, ProviderState } from './protocol';

export interface OfferedModel {
    label: string;
    description: string;
    model: string;
}

/** Models that can answer, those of usable providers first; `now` is the one that answers now. */
export function offeredModels({ providers, choice }: ModelsListResult, now: string | undefined): OfferedModel[] {
    const usable = (state: ProviderState) => state.type === 'configured' || state.type === 'reachable';
    const ordered = [...providers].sort((one, other) => Number(usable(other.state)) - Number(usable(one.state)));
    return ordered.flatMap(({ state, models }) =>
        models.map(({ name, contextWindow, isPriced }) => {
            const parts = [
                name === now ? 'now' : '',
                name === choice?.model ? choice.because : '',
                stateText(state),
                contextWindow ? `${tokens(contextWindow)} tokens` : '',
                isPriced ? '' : 'its price is not known',
            ];
            return { label: name, description: parts.filter((part) => part !== '').join(' · '), model: name };
        }),
    );
}

/** Whether a provider can be used, and what to do where it cannot. */
export function stateText(state: ProviderState): string {
    switch (state.type) {
        case 'configured':
            return state.reach.type === 'fails' ? state.reach.advice : '';
        case 'reachable':
            return 'on this machine';
        case 'notRunning':
            return 'does not run on this machine';
        case 'missing':
            return 'needs a key';
        case 'unusable':
            return state.why;
    }
}

function tokens(number: number): string {
    return number >= 1_000_000 ? `${number / 1_000_000} M` : `${Math.round(number / 1000)} k`;
}
