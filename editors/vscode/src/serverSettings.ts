// Made by `npm run generate` from `outrigger config schema`. Do not edit.

/** A setting of the sidecar that an editor may send. */
export interface ServerSetting {
    /** As the sidecar calls it; `outrigger.` before it is its name in VS Code. */
    name: string;
    about: string;
    default: unknown;
    /** What it may be, where that is a list. */
    choices: { value: string; about: string }[];
}

export const serverSettings: readonly ServerSetting[] = [
    {
        name: 'budget.activeS',
        about: 'Seconds of work; waiting for a human does not count.',
        default: 900,
        choices: [],
    },
    {
        name: 'budget.cost',
        about: 'US dollars that the run may cost. Models without a known price count as nothing here; their tokens count above.',
        default: null,
        choices: [],
    },
    {
        name: 'budget.dayCost',
        about: 'US dollars that all runs of a day (UTC) may cost together, in all workspaces.',
        default: null,
        choices: [],
    },
    {
        name: 'budget.iterations',
        about: 'Model calls that were answered; retries do not count.',
        default: 50,
        choices: [],
    },
    {
        name: 'budget.taskCost',
        about: 'US dollars that all runs of its task may cost together.',
        default: null,
        choices: [],
    },
    { name: 'budget.tokens', about: 'Input and output tokens together.', default: 100000, choices: [] },
    {
        name: 'engine',
        about: 'How a run thinks.',
        default: 'react',
        choices: [
            { value: 'react', about: 'A tool-use loop.' },
            {
                value: 'plan',
                about: 'A plan of typed steps first, which are then done and verified one after the other.',
            },
        ],
    },
    {
        name: 'fallbackModel',
        about: 'The model that takes over when the first cannot be reached.',
        default: null,
        choices: [],
    },
    {
        name: 'gates.dedupe',
        about: "Gates, or sources of findings, that the editor's own language servers show already: `cargo-check`, `Pyright`. They are run and told to the model, and not shown twice.",
        default: [],
        choices: [],
    },
    {
        name: 'gates.onSave',
        about: 'Which files are checked when they are saved outside of a run.',
        default: 'findings',
        choices: [
            { value: 'findings', about: 'Files on which findings are shown, so that these go when they are fixed.' },
            { value: 'always', about: 'Every file that a gate looks at.' },
            { value: 'never', about: 'None.' },
        ],
    },
    {
        name: 'log.format',
        about: 'How a line looks.',
        default: 'text',
        choices: [
            { value: 'text', about: 'For people.' },
            { value: 'json', about: 'One JSON object a line.' },
        ],
    },
    {
        name: 'log.level',
        about: '`error`, `warn`, `info`, `debug` or `trace`, or by module: `info,outrigger::gates=debug`.',
        default: 'warn',
        choices: [],
    },
    {
        name: 'model',
        about: 'The model of runs that name none: `provider/model`, `scripted:FILE` or `replay:TRANSCRIPT`. Unset: the first that has a key in the environment, else a local server.',
        default: null,
        choices: [],
    },
    {
        name: 'policy.commands',
        about: 'Whether the agent may run commands.',
        default: 'ask',
        choices: [
            { value: 'ask', about: 'The user is asked, once or once for the run.' },
            { value: 'allow', about: 'Commands run; nobody is asked.' },
            { value: 'deny', about: 'Commands do not run, and the model is told so.' },
        ],
    },
    {
        name: 'policy.conflict',
        about: 'What happens when a change meets content that the agent has not read.',
        default: 'ask',
        choices: [
            { value: 'ask', about: 'A human decides, over a diff. The default with an editor.' },
            { value: 'edit', about: 'The agent is shown what is there and edits that. The default without an editor.' },
            {
                value: 'overwrite',
                about: 'The proposal wins over what is on disk. Unsaved text is asked about all the same.',
            },
            { value: 'fail', about: 'The tool call fails.' },
        ],
    },
    {
        name: 'policy.merge',
        about: "What happens when the agent's change and another one do not overlap.",
        default: 'auto',
        choices: [
            { value: 'auto', about: 'They are merged.' },
            { value: 'ask', about: 'The merged text is proposed to a human.' },
        ],
    },
    {
        name: 'policy.review',
        about: 'Which plans a human looks at before they are followed.',
        default: 'large',
        choices: [
            { value: 'always', about: '' },
            { value: 'never', about: '' },
            { value: 'large', about: 'Those of more than six steps, and those that delete files.' },
        ],
    },
    { name: 'runs.keep', about: 'How many ended runs are kept.', default: 200, choices: [] },
    {
        name: 'runs.onRestart',
        about: 'What happens when the editor comes back to a run that its process did not end.',
        default: 'ask',
        choices: [
            { value: 'ask', about: 'It is offered, with what is certain and what is not.' },
            { value: 'resume', about: 'It goes on by itself, unless something is uncertain.' },
            { value: 'park', about: 'It stays where it is until it is asked for.' },
        ],
    },
    {
        name: 'stall.action',
        about: 'What is done about it.',
        default: 'blocker',
        choices: [
            { value: 'retry', about: 'What hangs is stopped and done once more; the second time the run fails.' },
            { value: 'blocker', about: 'What hangs is stopped and a human is asked.' },
            { value: 'fail', about: 'The run fails.' },
        ],
    },
    { name: 'stall.timeoutS', about: 'Seconds without a sign of life; 0: never.', default: 300, choices: [] },
];
