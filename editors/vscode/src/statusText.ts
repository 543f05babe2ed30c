// The status bar item in words. Pure.

import { costText } from './money';
import { isOver, type RunState, type SidecarState } from './sidecarState';

/** What the sidecar's process does. */
export type ServerPhase = 'off' | 'starting' | 'running' | 'missing' | 'failed' | 'untrusted';

export interface StatusText {
    text: string;
    tooltip: string;
    /** Whether it asks for attention. */
    asks: boolean;
    failed: boolean;
}

export function statusText(phase: ServerPhase, state: SidecarState): StatusText {
    const plain = (text: string, tooltip: string, failed = false) => ({ text, tooltip, asks: false, failed });
    switch (phase) {
        case 'missing':
            return plain(
                '$(warning) Outrigger',
                'The outrigger program was not found. Select to do something about it.',
                true,
            );
        case 'failed':
            return plain(
                '$(error) Outrigger',
                'The sidecar ended and was not started again. Select for its log.',
                true,
            );
        case 'untrusted':
            return plain('$(shield) Outrigger', 'Off until you trust this folder.');
        case 'starting':
            return plain('$(loading~spin) Outrigger', 'The sidecar starts.');
        case 'off':
            return plain('$(circle-outline) Outrigger', 'Open a folder to start runs.');
        case 'running':
            break;
    }
    const questions = state.openQuestions();
    const active = state.activeRuns();
    const first = active[0];
    const tooltip = [
        ...questions.map((question) => `Asks: ${question.title}`),
        ...active.map((run) => `${run.prompt} – ${progressText(run)}`),
    ].join('\n');
    if (questions.length > 0) {
        const text = questions.length === 1 ? '1 question' : `${questions.length} questions`;
        return { text: `$(question) Outrigger: ${text}${cost(active)}`, tooltip, asks: true, failed: false };
    }
    if (first) {
        const more = active.length > 1 ? ` +${active.length - 1}` : '';
        const icon = first.paused ? '$(debug-pause)' : '$(sync~spin)';
        const status = first.paused ? 'paused' : first.status;
        return plain(`${icon} Outrigger: ${status}${more}${cost(active)}`, tooltip);
    }
    const last = state.runsByAge()[0];
    return plain('$(rocket) Outrigger', last ? `Last run: ${progressText(last)}` : 'No runs yet.');
}

/** What the runs that are going on have cost together. */
function cost(active: readonly RunState[]): string {
    const sum = active.reduce((all, { cost }) => ({ micros: all.micros + cost.micros, unpricedTokens: 0 }), {
        micros: 0,
        unpricedTokens: 0,
    });
    const text = costText(sum);
    return text === '' ? '' : ` · ${text}`;
}

/** What a run does now, and with what it waits. */
export function progressText(run: RunState): string {
    if (isOver(run)) {
        const told = run.end ? `${run.status}: ${run.end.summary.text}` : run.status;
        const paid = costText(run.cost);
        return paid === '' ? told : `${told} (${paid})`;
    }
    if (run.paused) {
        return 'paused';
    }
    return run.waiting ? `${run.status}, waits for ${run.waiting.detail}` : run.status;
}
