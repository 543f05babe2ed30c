// The side panel's page. It holds no truth of its own: what it shows comes as a whole from the extension, what is pressed
// goes there. It remembers only the chosen run and what was typed and not sent.

import type { FindingRow } from '../findingLedger';
import type { FromPanel, PanelAction, PanelMemory, PanelState, ToPanel } from '../panelMessages';
import type { TimelineRow } from '../timelineRow';
import { draftName, RunDetails } from './details';
import { button, element, keyed, setText } from './elements';
import { LongList } from './longList';
import { Inbox } from './questions';
import { RunList } from './runs';

const editor = acquireVsCodeApi<PanelMemory>();
const memory: PanelMemory = editor.getState() ?? { prompt: '', drafts: {} };
const ownPrompt = memory.prompt;
const remember = () => {
    editor.setState(memory);
    editor.postMessage({ type: 'remember', memory } satisfies FromPanel);
};
const send = (message: FromPanel) => {
    if (message.type === 'select') {
        memory.selected = message.runId;
        remember();
    }
    editor.postMessage(message);
};

const obstacle = element('section', { class: 'obstacle', role: 'status' });
const failure = element('p', { class: 'failure', role: 'alert' });
const prompt = element('textarea', {
    rows: '3',
    id: 'prompt',
    placeholder: 'What shall be done? @file, @selection, @problems',
    'aria-label': 'What shall be done?',
});
prompt.value = memory.prompt;
const start = () => {
    if (prompt.value.trim() !== '') {
        setText(failure, '');
        send({ type: 'start', prompt: prompt.value });
        prompt.value = '';
        memory.prompt = '';
        remember();
    }
};
prompt.addEventListener('input', () => {
    memory.prompt = prompt.value;
    remember();
});
prompt.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        start();
    }
});
/** Model, engine and policy: what holds, and a way to change it. */
const choices = element('div', { class: 'choices' });
const starting = element(
    'section',
    { class: 'starting', 'aria-label': 'Start a run' },
    prompt,
    element('div', { class: 'buttons' }, button('Start', start, { class: 'primary', title: 'Ctrl+Enter' }), choices),
    failure,
);
const nothing = element(
    'section',
    { class: 'nothing' },
    element('p', {}, 'No runs yet. Say above what shall be done, or try how it works:'),
    button('Try a demo run (no key needed)', () => send({ type: 'command', command: 'runDemo' })),
);
const inbox = new Inbox({ send, drafts: () => memory.drafts, draftsChanged: remember });
const runs = new RunList(send);
const detail = element('pre', { class: 'event-detail', tabindex: '0', 'aria-label': 'The chosen event', hidden: true });
let shownRun: string | undefined;
const timeline = new LongList<TimelineRow>({
    label: 'Events of the run',
    name: 'timeline',
    follows: true,
    choose: ({ seq }) => {
        if (shownRun !== undefined) {
            send({ type: 'detail', runId: shownRun, seq });
        }
    },
    draw: ({ at, text, tone }) => ({
        tone,
        text,
        parts: [
            element('span', { class: 'time' }, new Date(at).toLocaleTimeString()),
            element('span', { class: 'text' }, text),
        ],
    }),
});
const findings = new LongList<FindingRow>({
    label: 'Findings of the run’s checks',
    name: 'findings',
    follows: false,
    choose: ({ place }) => {
        if (shownRun !== undefined && place) {
            send({ type: 'open', runId: shownRun, ...place });
        }
    },
    draw: ({ text, severity, isNew }) => ({
        tone: isNew && severity === 'error' ? 'bad' : 'plain',
        text,
        parts: [element('span', { class: 'note' }, isNew ? 'new' : 'before'), element('span', { class: 'text' }, text)],
    }),
});
const details = new RunDetails({
    send,
    findings: findings.root,
    timeline: element('div', {}, timeline.root, detail),
    drafts: () => memory.drafts,
    draftsChanged: remember,
});

document
    .getElementById('panel')
    ?.append(
        element('h1', { class: 'hidden-visually' }, 'Outrigger'),
        obstacle,
        inbox.root,
        starting,
        nothing,
        runs.root,
        details.root,
    );

function show(state: PanelState): void {
    const hindrance = state.obstacle;
    const key = JSON.stringify(hindrance ?? null);
    if (obstacle.dataset['shown'] !== key) {
        obstacle.dataset['shown'] = key;
        obstacle.hidden = !hindrance;
        const press = ({ label, command }: PanelAction, kind: string) =>
            button(label, () => send({ type: 'command', command }), { class: kind });
        const { action, other } = hindrance ?? {};
        obstacle.replaceChildren(
            element('p', {}, hindrance?.text ?? ''),
            element(
                'div',
                { class: 'buttons' },
                ...(action ? [press(action, 'primary')] : []),
                ...(other ? [press(other, '')] : []),
            ),
        );
    }
    starting.hidden = hindrance !== undefined && hindrance.action !== undefined;
    nothing.hidden = state.runs.length > 0 || hindrance !== undefined;
    keyed(choices, state.choices, {
        key: ({ label }) => label,
        make: ({ command }) => button('', () => send({ type: 'command', command }), { class: 'link' }),
        update: (child, { label, value, origin }) => {
            setText(child, `${label}: ${value}`);
            child.title = origin === '' ? `Change the ${label.toLowerCase()}` : `From ${origin}. Change it`;
        },
    });
    forget(state);
    inbox.show(state.inbox);
    runs.show(state.runs, state.selected?.runId);
    details.show(state.selected);
}

function choose(runId: string): void {
    if (runId !== shownRun) {
        shownRun = runId;
        detail.hidden = true;
    }
}

/** Drafts of questions that are no longer open are of no use to anybody. */
function forget(state: PanelState): void {
    const working = state.runs.filter((run) => !run.over).map((run) => draftName(run.runId));
    const open = new Set([...state.inbox.map((card) => card.id), ...working]);
    const over = state.obstacle ? [] : Object.keys(memory.drafts).filter((id) => !open.has(id));
    if (over.length > 0) {
        for (const id of over) {
            Reflect.deleteProperty(memory.drafts, id);
        }
        remember();
    }
}

window.addEventListener('message', ({ data }: MessageEvent<ToPanel>) => {
    switch (data.type) {
        case 'memory':
            // VS Code saves a panel's own state late; the extension was told of each letter. What is typed now stays.
            if (prompt.value === ownPrompt) {
                Object.assign(memory, data.memory);
                prompt.value = memory.prompt;
            }
            break;
        case 'state':
            show(data.state);
            break;
        case 'rows':
            choose(data.runId);
            timeline.put(data.from, data.rows);
            break;
        case 'findings':
            choose(data.runId);
            findings.put(data.from, data.rows);
            break;
        case 'detail':
            if (data.runId === shownRun) {
                detail.hidden = false;
                setText(detail, data.text);
            }
            break;
        case 'failed':
            if (data.questionId === undefined) {
                setText(failure, data.text);
            } else {
                inbox.failed(data.questionId, data.text);
            }
            break;
    }
});
setInterval(() => details.tick(), 1000);
send({ type: 'ready', ...(memory.selected === undefined ? {} : { selected: memory.selected }) });
