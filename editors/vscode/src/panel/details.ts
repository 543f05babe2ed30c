// The details of the chosen run: what it does and waits for, what can be said to it, its plan, findings, changes, calls.

import type { RunCard, RunDetail } from '../panelMessages';
import { button, element, keyed, setText } from './elements';
import { statusWords, type Send } from './runs';
import { durationText } from './virtualList';

const PLAN_MARK: Record<string, string> = { pending: '○', in_progress: '▸', done: '✓', skipped: '–', failed: '✗' };
const CALL_MARK: Record<string, string> = { requested: '…', started: '▸', completed: '✓', failed: '✗', denied: '⊘' };
const GATE_MARK: Record<string, string> = { pass: '✓', fail: '✗', error: '!', missing: '!', skipped: '–' };
const GATE_WORDS: Record<string, string> = {
    pass: 'passed',
    fail: 'failed',
    error: 'could not run',
    missing: 'is not installed',
    skipped: 'had nothing to check',
};

export interface DetailsContext {
    send: Send;
    /** The lists of any length, made elsewhere. */
    findings: HTMLElement;
    timeline: HTMLElement;
    /** What was typed and not sent, by run. */
    drafts: () => Record<string, string>;
    draftsChanged: () => void;
}

/** The step of a plan that is followed which is being done. */
function isStepNow({ state, step }: RunDetail['plan'][number]): boolean {
    return state === 'in_progress' && step !== undefined && step !== null;
}

/** Name of what was typed to a run, among all drafts. */
export function draftName(runId: string): string {
    return `run:${runId}`;
}

export class RunDetails {
    readonly root: HTMLElement;
    readonly #heading = element('h2', {}, 'Run');
    readonly #state = element('p', { class: 'state', 'data-testid': 'state' });
    readonly #waiting = element('span', { class: 'waiting' });
    readonly #timer = element('span', { class: 'timer', 'aria-hidden': 'true' });
    readonly #buttons: { shown: (run: RunDetail) => boolean; button: HTMLButtonElement }[];
    readonly #talk: HTMLElement;
    readonly #words = element('textarea', {
        rows: '2',
        placeholder: 'Tell the agent something',
        'aria-label': 'Tell the agent something',
    });
    readonly #summary = element('div', { class: 'summary', 'data-testid': 'summary' });
    readonly #facts = element('p', { class: 'facts' });
    readonly #plan = list('Plan', 'plan');
    readonly #calls = list('Tool calls', 'calls');
    readonly #gates = list('Checks', 'gates');
    readonly #changes = list('Changes', 'changes');
    readonly #resolved = list('Answered questions', 'resolved');
    readonly #findings: HTMLElement;
    readonly #findingsHeading = element('h3', {}, 'Findings');
    #runId = '';
    #since: number | undefined;

    constructor(private readonly context: DetailsContext) {
        const { send } = context;
        type Name = Extract<Parameters<Send>[0], { type: 'command' }>['command'];
        const offered = (label: string, name: Name, shown: (run: RunDetail) => boolean, main = false) => ({
            shown,
            button: button(
                label,
                () => send({ type: 'command', command: name, runId: this.#runId }),
                main ? { class: 'primary' } : {},
            ),
        });
        const works = (run: RunCard) => !run.over;
        const changed = (run: RunDetail) => run.changes.length > 0;
        this.#buttons = [
            offered('Stop', 'cancel', works, true),
            offered('Pause', 'pause', (run) => works(run) && !run.paused),
            offered('Go on', 'goOn', (run) => works(run) && run.paused, true),
            offered('Skip the step', 'skipStep', (run) => works(run) && run.plan.some(isStepNow)),
            offered('Resume', 'resume', (run) => run.status === 'interrupted', true),
            offered('Give it up', 'cancel', (run) => run.status === 'interrupted'),
            offered('Another model…', 'useModel', works),
            offered('Show changes', 'showChanges', changed),
            offered('Revert…', 'revert', (run) => run.over && changed(run)),
            offered('Use as commit message', 'commitMessage', (run) => run.over && changed(run)),
            offered('Open transcript', 'openTranscript', () => true),
        ];
        const buttons = element('div', { class: 'buttons' }, ...this.#buttons.map((one) => one.button));
        this.#talk = this.#makeTalk();
        this.#state.append(element('strong', {}), ' ', this.#waiting, ' ', this.#timer);
        this.#findings = element('div', {}, this.#findingsHeading, context.findings);
        const root = ({ root }: List) => root;
        this.root = element(
            'section',
            { class: 'details', 'aria-label': 'The chosen run', 'data-testid': 'details' },
            ...[this.#heading, this.#state, buttons, this.#talk, this.#summary, this.#facts],
            ...[this.#plan, this.#gates].map(root),
            this.#findings,
            ...[this.#changes, this.#resolved, this.#calls].map(root),
            element('h3', {}, 'Timeline'),
            context.timeline,
        );
    }

    show(run: RunDetail | undefined): void {
        this.root.hidden = run === undefined;
        if (!run) {
            return;
        }
        if (this.#runId !== run.runId) {
            this.#runId = run.runId;
            this.#words.value = this.context.drafts()[draftName(run.runId)] ?? '';
        }
        setText(this.#heading, run.prompt.split('\n')[0] ?? '');
        const status = this.#state.firstElementChild;
        if (status) {
            setText(status, statusWords({ ...run, openQuestions: 0 }));
        }
        setText(this.#waiting, run.waiting ? `waits for ${run.waiting.text}` : '');
        this.#since = run.waiting?.since;
        this.tick();
        for (const { button, shown } of this.#buttons) {
            button.hidden = !shown(run);
        }
        this.#talk.hidden = run.over;
        this.#showSummary(run);
        setText(this.#facts, factsText(run));
        show(this.#plan, run.plan, (item) => [PLAN_MARK[item.state] ?? '', item.title, item.state.replace('_', ' ')]);
        const calls: RunDetail['toolCalls'] =
            run.toolCallsBefore > 0 ? [{ id: '', text: `${run.toolCallsBefore} before`, state: '' }] : [];
        show(this.#calls, [...calls, ...run.toolCalls], (call) => [
            CALL_MARK[call.state] ?? '',
            call.text,
            call.durationMs !== undefined ? `${call.state}, ${durationText(call.durationMs)}` : call.state,
        ]);
        show(this.#gates, run.gates, ({ gate, outcome, notes }) => [
            GATE_MARK[outcome] ?? '',
            gate,
            [GATE_WORDS[outcome] ?? outcome, ...notes.slice(0, 1)].join(': '),
        ]);
        this.#findings.hidden = run.findings === 0;
        const before = run.findings - run.newFindings;
        setText(
            this.#findingsHeading,
            `Findings: ${run.newFindings.toLocaleString()} new${before > 0 ? `, ${before.toLocaleString()} from before` : ''}`,
        );
        show(this.#resolved, run.resolved, (question) => ['✓', question.title, question.resolution]);
        this.#showChanges(run);
    }

    /** Every second: how long it has waited. */
    tick(): void {
        setText(this.#timer, this.#since === undefined ? '' : `for ${durationText(Date.now() - this.#since)}`);
    }

    #makeTalk(): HTMLElement {
        const { send, drafts, draftsChanged } = this.context;
        const tell = () => {
            if (this.#words.value.trim() !== '') {
                send({ type: 'message', runId: this.#runId, text: this.#words.value.trim() });
                this.#words.value = '';
                Reflect.deleteProperty(drafts(), draftName(this.#runId));
                draftsChanged();
            }
        };
        this.#words.addEventListener('input', () => {
            drafts()[draftName(this.#runId)] = this.#words.value;
            draftsChanged();
        });
        this.#words.addEventListener('keydown', (event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
                event.preventDefault();
                tell();
            }
        });
        return element('div', { class: 'words talk' }, this.#words, button('Tell it', tell, { title: 'Ctrl+Enter' }));
    }

    /** What happened, once it is over. */
    #showSummary({ summary }: RunDetail): void {
        this.#summary.hidden = summary === undefined;
        const key = JSON.stringify(summary ?? null);
        if (this.#summary.dataset['shown'] === key) {
            return;
        }
        this.#summary.dataset['shown'] = key;
        const files = summary?.files ?? [];
        this.#summary.replaceChildren(
            element('h3', {}, 'What happened'),
            element('p', {}, summary?.text ?? ''),
            element(
                'ul',
                {},
                ...files.map(({ path, change, added, removed }) =>
                    element('li', {}, `${change} ${path} (+${added} −${removed})`),
                ),
            ),
        );
    }

    #showChanges(run: RunDetail): void {
        this.#changes.root.hidden = run.changes.length === 0;
        keyed(this.#changes.items, run.changes, {
            key: (change) => change.path,
            make: (change) => {
                const open = () => this.context.send({ type: 'open', runId: this.#runId, path: change.path });
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

const VERIFICATION: Record<string, string> = {
    unverified: 'none could check the work',
    notNeeded: 'not needed',
};

function factsText(run: RunDetail): string {
    const number = (value: number) => value.toLocaleString();
    const cached = run.tokens.cached > 0 ? ` (${number(run.tokens.cached)} cached)` : '';
    const parts = [
        run.model,
        run.engine,
        `${number(run.tokens.input)} tokens in${cached}, ${number(run.tokens.output)} out`,
    ];
    if (run.cost !== '') {
        parts.push(run.cost);
    }
    if (run.summary) {
        const { modelCalls, toolCalls } = run.summary;
        parts.push(`${number(modelCalls)} answers of the model`, `${number(toolCalls)} tool calls`);
        parts.push(
            `${durationText(run.summary.activeMs)} of work`,
            `checks: ${VERIFICATION[run.summary.verification] ?? run.summary.verification}`,
        );
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
