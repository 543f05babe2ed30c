// What calls of models cost, in words. Pure.

import type { Cost } from './protocol';

/** Empty where nothing was paid. */
export function costText({ micros, unpricedTokens }: Cost): string {
    const dollars = micros / 1_000_000;
    const paid = micros === 0 ? '' : `$${dollars.toFixed(dollars < 0.1 ? 4 : 2)}`;
    const unknown = unpricedTokens === 0 ? '' : `${unpricedTokens.toLocaleString()} tokens of unknown price`;
    return [paid, unknown].filter((part) => part !== '').join(' and ');
}
