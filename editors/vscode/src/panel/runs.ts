// All runs, newest first.

import type { FromPanel, RunCard } from '../panelMessages';
import { button, element, keyed, setText } from './elements';

export type Send = (message: FromPanel) => void;

const STATUS_MARK: Record<string, string> = {
    queued: '…',
    planning: '▸',
    executing: '▸',
    verifying: '▸',
    waiting: '‖',
    succeeded: '✓',
    failed: '✗',
    cancelled: '■',
    interrupted: '!',
};
export class RunList {
    readonly root: HTMLElement;
    readonly #list = element('ul', { class: 'runs' });

    constructor(private readonly send: Send) {
        this.root = element('section', { 'aria-label': 'Runs' }, element('h2', {}, 'Runs'), this.#list);
    }

    show(runs: readonly RunCard[], selected: string | undefined): void {
        this.root.hidden = runs.length === 0;
        keyed(this.#list, runs, {
            key: (run) => run.runId,
            make: (run) => {
                const choose = button('', () => this.send({ type: 'select', runId: run.runId }), { class: 'run' });
                choose.append(
                    element('span', { class: 'mark', 'aria-hidden': 'true' }),
                    element('span', { class: 'prompt' }),
                    element('span', { class: 'status' }),
                );
                return element('li', {}, choose);
            },
            update: (child, run) => {
                const choose = child.firstElementChild;
                const [mark, prompt, status] = choose?.children ?? [];
                if (!choose || !mark || !prompt || !status) {
                    return;
                }
                const chosen = String(run.runId === selected);
                if (choose.getAttribute('aria-pressed') !== chosen) {
                    choose.setAttribute('aria-pressed', chosen);
                }
                choose.className = `run status-${run.status}`;
                setText(mark, STATUS_MARK[run.status] ?? '');
                setText(prompt, run.prompt.split('\n')[0] ?? '');
                setText(status, statusWords(run));
            },
        });
    }
}

/** The state in a word or two. */
export function statusWords({ status, openQuestions, paused, elsewhere, over }: RunCard): string {
    const state = paused && !over ? 'paused' : status;
    const asks = openQuestions > 0 ? ', asks you' : '';
    return `${state}${asks}${elsewhere && !over ? ', elsewhere' : ''}`;
}
