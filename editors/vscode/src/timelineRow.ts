// One line of a run's timeline from one event. Pure; the whole event can be fetched again by its number.

import type { Block, Record as RunRecord, RunEvent, Steer, Step } from './protocol';

export type Tone = 'plain' | 'good' | 'bad' | 'warning' | 'asking';

export interface TimelineRow {
    seq: number;
    /** Milliseconds since 1970. */
    at: number;
    tone: Tone;
    /** One line, cut. */
    text: string;
}

const LONGEST = 240;

export function describeRecord(record: RunRecord): TimelineRow {
    const [tone, text] = describe(record.event);
    const line = text.replace(/\s+/g, ' ').trim();
    return {
        seq: record.seq,
        at: record.at,
        tone,
        text: line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line,
    };
}

function describe(event: RunEvent): [Tone, string] {
    switch (event.type) {
        case 'runStarted':
            return ['plain', `Started with ${event.spec.model}: ${event.spec.prompt}`];
        case 'contextGathered':
            return ['plain', `Looked around in ${event.context.folder}`];
        case 'statusChanged':
            return ['plain', event.waiting ? `${event.to}: waits for ${event.waiting.detail}` : event.to];
        case 'planUpdated':
            return [
                'plain',
                `Plan: ${event.items.filter((item) => item.state === 'done').length} of ${event.items.length} done`,
            ];
        case 'fileHeld':
            return [
                'warning',
                `${event.path} is held by ${event.by.holder === 'you' ? 'you, who type in it' : `run ${event.by.run}`}`,
            ];
        case 'fileFreed':
            return ['plain', 'The file is free again'];
        case 'budgetWarned':
            return ['warning', `Most of ${event.limit} is used`];
        case 'targetsFound':
            return ['plain', 'Looked at what the plan is about'];
        case 'stepStarted':
            return ['plain', `Step ${event.step.number}: ${stepText(event.step)}`];
        case 'stepEnded':
            return [
                event.state === 'done' ? 'good' : event.state === 'failed' ? 'bad' : 'warning',
                `Step ${event.step.number} ${event.state}${event.why ? `: ${event.why}` : ''}`,
            ];
        case 'verificationFailed':
            return ['bad', `${event.gates.join(', ')} rejected the work: ${event.first[0] ?? ''}; ${event.next}`];
        case 'modelCalled':
            return ['plain', `Asked ${event.model}`];
        case 'modelReplied':
            return ['plain', replyText(event.turn.blocks)];
        case 'modelFailed':
            return ['bad', `The model failed: ${event.failure.advice}`];
        case 'modelRetried':
            return ['warning', event.what];
        case 'toolRequested':
            return ['plain', `${event.name} ${event.summary}`];
        case 'toolStarted':
            return ['plain', `${event.call} started`];
        case 'toolFinished':
            return [event.output.isError ? 'bad' : 'plain', `${event.call} ran for ${event.durationMs} ms`];
        case 'toolCompleted':
            return ['good', `${event.call} completed: ${event.result}`];
        case 'toolFailed':
            return ['bad', `${event.call} failed: ${event.error}`];
        case 'toolDenied':
            return ['warning', `${event.call} denied: ${event.reason}`];
        case 'fileInspected':
            return ['plain', `Looked at ${event.path}`];
        case 'changePlanned':
            return ['plain', `Is about to change ${event.path}`];
        case 'writeFinished':
            return event.outcome.result === 'written'
                ? ['plain', `Wrote ${event.path}`]
                : ['warning', `${event.path} was not written: ${event.outcome.result}`];
        case 'changeMade':
            return ['good', `Changed ${event.path}: +${event.added} −${event.removed}`];
        case 'gatesStarted':
            return ['plain', `Checks (${event.why})`];
        case 'gatesReported':
            return [
                'plain',
                event.reports.map((report) => `${report.gate}: ${report.outcome}`).join(', ') || 'Nothing to check',
            ];
        case 'gatesJudged': {
            const { newFindings, first, failed, broken } = event.verdict;
            return newFindings > 0
                ? ['bad', `${newFindings} new ${newFindings === 1 ? 'finding' : 'findings'}: ${first[0] ?? ''}`]
                : failed.length > 0
                  ? ['bad', `Failed: ${failed.join(', ')}`]
                  : broken.length > 0
                    ? ['warning', `Could not check: ${broken.join('; ')}`]
                    : ['good', 'Nothing new was found'];
        }
        case 'questionOpened':
            return ['asking', event.question.title];
        case 'questionAnswered':
            return ['plain', `Answered by ${event.by}`];
        case 'questionWithdrawn':
            return ['plain', `The question was withdrawn: ${event.reason}`];
        case 'cancelRequested':
            return ['warning', `Stopped by ${event.by}`];
        case 'workStopped':
            return ['plain', 'All work has stopped'];
        case 'timerFired':
            return ['plain', 'Time passed'];
        case 'ended':
            return [event.outcome === 'succeeded' ? 'good' : 'bad', `${event.outcome}: ${event.summary.text}`];
        case 'stallDetected':
            return ['warning', `No sign of life for ${Math.round(event.idleMs / 1000)} s`];
        case 'steered':
            return ['plain', `${event.by}: ${steerText(event.steer)}`];
        case 'abandoned':
            return ['warning', `Given up by ${event.by}`];
        case 'resumed':
            return ['plain', `Taken up again by ${event.by}`];
        case 'resuming':
            return event.uncertain.length > 0
                ? ['warning', `Goes on; not certain: ${event.uncertain.join(', ')}`]
                : ['plain', 'Goes on'];
        default:
            // From a later version of the contract.
            return ['plain', (event as { type: string }).type];
    }
}

function stepText({ kind, target, command, why }: Step): string {
    return [kind, target ?? command ?? '', why === '' ? '' : `(${why})`].filter((part) => part !== '').join(' ');
}

function steerText(steer: Steer): string {
    switch (steer.type) {
        case 'message':
            return steer.text;
        case 'pause':
            return 'Pause';
        case 'skipStep':
            return 'Skip this step';
        case 'goOn':
            return 'Go on';
        case 'model':
            return `Go on with ${steer.model}`;
        default:
            // From a later version of the contract.
            return (steer as { type: string }).type;
    }
}

function replyText(blocks: readonly Block[]): string {
    const said = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : []));
    const tools = blocks.flatMap((block) => (block.type === 'toolCall' ? [block.name] : []));
    return said.join(' ') || (tools.length > 0 ? `Wants ${tools.join(', ')}` : 'Said nothing');
}
