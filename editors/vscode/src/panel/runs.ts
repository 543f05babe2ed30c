// All runs, and the details of the chosen one.

import type { FromPanel, RunCard, RunDetail } from '../panelMessages';
import { button, element, keyed, setText } from './elements';
import { durationText } from './virtualList';

type Send = (message: FromPanel) => void;

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
const PLAN_MARK: Record<string, string> = { pending: '○', in_progress: '▸', done: '✓', skipped: '–' };
const CALL_MARK: Record<string, string> = { requested: '…', started: '▸', completed: '✓', failed: '✗', denied: '⊘' };

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
                setText(status, run.openQuestions > 0 ? `${run.status}, asks you` : run.status);
            },
        });
    }
}

export class RunDetails {
    readonly root: HTMLElement;
    readonly #heading = element('h2', {}, 'Run');
    readonly #state = element('p', { class: 'state', 'data-testid': 'state' });
    readonly #waiting = element('span', { class: 'waiting' });
    readonly #timer = element('span', { class: 'timer', 'aria-hidden': 'true' });
    readonly #buttons = element('div', { class: 'buttons' });
    readonly #stop: HTMLButtonElement;
    readonly #resume: HTMLButtonElement;
    readonly #summary = element('p', { class: 'summary' });
    readonly #facts = element('p', { class: 'facts' });
    readonly #plan = list('Plan', 'plan');
    readonly #calls = list('Tool calls', 'calls');
    readonly #findings = list('Findings', 'findings');
    readonly #changes = list('Changes', 'changes');
    readonly #resolved = list('Answered questions', 'resolved');
    #runId = '';
    #since: number | undefined;

    constructor(
        private readonly send: Send,
        timeline: HTMLElement,
    ) {
        const command = (name: 'cancel' | 'resume' | 'showChanges' | 'openTranscript') => () =>
            send({ type: 'command', command: name, runId: this.#runId });
        this.#stop = button('Stop', command('cancel'), { class: 'primary' });
        this.#resume = button('Resume', command('resume'), { class: 'primary' });
        this.#buttons.append(
            this.#stop,
            this.#resume,
            button('Show changes', command('showChanges')),
            button('Open transcript', command('openTranscript')),
        );
        this.#state.append(element('strong', {}), ' ', this.#waiting, ' ', this.#timer);
        this.root = element(
            'section',
            { class: 'details', 'aria-label': 'The chosen run', 'data-testid': 'details' },
            this.#heading,
            this.#state,
            this.#buttons,
            this.#summary,
            this.#facts,
            ...[this.#plan, this.#findings, this.#changes, this.#resolved, this.#calls].map(({ root }) => root),
            element('h3', {}, 'Timeline'),
            timeline,
        );
    }

    show(run: RunDetail | undefined): void {
        this.root.hidden = run === undefined;
        if (!run) {
            return;
        }
        this.#runId = run.runId;
        setText(this.#heading, run.prompt.split('\n')[0] ?? '');
        const status = this.#state.firstElementChild;
        if (status) {
            setText(status, run.status);
        }
        setText(this.#waiting, run.waiting ? `waits for ${run.waiting.text}` : '');
        this.#since = run.waiting?.since;
        this.tick();
        this.#stop.hidden = run.over;
        this.#resume.hidden = run.status !== 'interrupted';
        this.#summary.hidden = run.summary === undefined;
        setText(this.#summary, run.summary?.text ?? '');
        setText(this.#facts, factsText(run));
        show(this.#plan, run.plan, (item) => [PLAN_MARK[item.state] ?? '', item.title, item.state.replace('_', ' ')]);
        const calls: RunDetail['toolCalls'] =
            run.toolCallsBefore > 0 ? [{ id: '', text: `${run.toolCallsBefore} before`, state: '' }] : [];
        show(this.#calls, [...calls, ...run.toolCalls], (call) => [
            CALL_MARK[call.state] ?? '',
            call.text,
            call.durationMs !== undefined ? `${call.state}, ${durationText(call.durationMs)}` : call.state,
        ]);
        show(this.#findings, run.firstFindings.slice(0, run.findings), (text) => ['✗', text, '']);
        show(this.#resolved, run.resolved, (question) => ['✓', question.title, question.resolution]);
        this.#showChanges(run);
    }

    /** Every second: how long it has waited. */
    tick(): void {
        setText(this.#timer, this.#since === undefined ? '' : `for ${durationText(Date.now() - this.#since)}`);
    }

    #showChanges(run: RunDetail): void {
        this.#changes.root.hidden = run.changes.length === 0;
        keyed(this.#changes.items, run.changes, {
            key: (change) => change.path,
            make: (change) => {
                const open = () => this.send({ type: 'open', runId: this.#runId, path: change.path });
                return element(
                    'li',
                    {},
                    button(change.path, open, { class: 'link' }),
                    ' ',
                    element('span', { class: 'counts' }),
                );
            },
            update: (child, change) => {
                const counts = child.querySelector('.counts');
                if (counts) {
                    setText(counts, `+${change.added} −${change.removed}`);
                }
            },
        });
    }
}

function factsText(run: RunDetail): string {
    const number = (value: number) => value.toLocaleString();
    const cached = run.tokens.cached > 0 ? ` (${number(run.tokens.cached)} cached)` : '';
    const parts = [run.model, `${number(run.tokens.input)} tokens in${cached}, ${number(run.tokens.output)} out`];
    if (run.summary) {
        parts.push(`${durationText(run.summary.activeMs)} of work`, `checks: ${run.summary.verification}`);
    }
    return parts.join(' · ');
}

interface List {
    root: HTMLElement;
    items: HTMLElement;
}

function list(title: string, name: string): List {
    const items = element('ul', { class: name });
    return { root: element('div', {}, element('h3', {}, title), items), items };
}

/** Shows items as mark, text and a note for people who do not see the mark. */
function show<T>({ root, items }: List, of: readonly T[], parts: (item: T) => [string, string, string]): void {
    root.hidden = of.length === 0;
    keyed(
        items,
        of.map((item, index) => ({ index, parts: parts(item) })),
        {
            key: ({ index }) => String(index),
            make: () =>
                element(
                    'li',
                    {},
                    element('span', { class: 'mark', 'aria-hidden': 'true' }),
                    element('span', { class: 'text' }),
                    element('span', { class: 'note' }),
                ),
            update: (child, item) => {
                item.parts.forEach((text, index) => {
                    const part = child.children[index];
                    if (part) {
                        setText(part, text);
                    }
                });
            },
        },
    );
}
