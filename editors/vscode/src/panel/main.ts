// The side panel's page. It holds no truth of its own: what it shows comes as a whole from the extension, what is pressed
// goes there. It remembers only the chosen run and what was typed and not sent.

import type { FromPanel, PanelMemory, PanelState, ToPanel } from '../panelMessages';
import { button, element, setText } from './elements';
import { Inbox } from './questions';
import { RunDetails, RunList } from './runs';
import { Timeline } from './timeline';

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
const model = button('', () => send({ type: 'command', command: 'chooseModel' }), {
    class: 'link',
    title: 'Choose the model',
});
const commands = button('', () => send({ type: 'command', command: 'chooseCommandPolicy' }), {
    class: 'link',
    title: 'Choose what happens with commands',
});
const starting = element(
    'section',
    { class: 'starting', 'aria-label': 'Start a run' },
    prompt,
    element(
        'div',
        { class: 'buttons' },
        button('Start', start, { class: 'primary', title: 'Ctrl+Enter' }),
        model,
        commands,
    ),
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
const timeline = new Timeline((seq) => {
    if (shownRun !== undefined) {
        send({ type: 'detail', runId: shownRun, seq });
    }
});
const details = new RunDetails(send, element('div', {}, timeline.root, detail));

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
        const action = hindrance?.action;
        obstacle.replaceChildren(
            element('p', {}, hindrance?.text ?? ''),
            ...(action
                ? [button(action.label, () => send({ type: 'command', command: action.command }), { class: 'primary' })]
                : []),
        );
    }
    starting.hidden = hindrance !== undefined && hindrance.action !== undefined;
    nothing.hidden = state.runs.length > 0 || hindrance !== undefined;
    setText(model, state.model === '' ? 'Model: as the project says' : `Model: ${state.model}`);
    setText(commands, `Commands: ${state.commands}`);
    forget(state);
    inbox.show(state.inbox);
    runs.show(state.runs, state.selected?.runId);
    details.show(state.selected);
}

/** Drafts of questions that are no longer open are of no use to anybody. */
function forget(state: PanelState): void {
    const open = new Set(state.inbox.map((card) => card.id));
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
            if (data.runId !== shownRun) {
                shownRun = data.runId;
                detail.hidden = true;
            }
            timeline.put(data.from, data.rows);
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
