// A question as one line of a notification with links. Pure.

import type { OfferedAnswer } from './answers';
import type { Question } from './protocol';
import { commandLink } from './questionMarkdown';

export function notificationText(question: Question, offers: readonly OfferedAnswer[]): string {
    const { kind } = question.kind;
    const links =
        kind === 'overwrite' || kind === 'plan'
            ? [
                  `[Review the ${kind === 'plan' ? 'plan' : 'change'}](${commandLink('outrigger.review', { questionId: question.id })})`,
              ]
            : offers.map(
                  ({ label, answer }) =>
                      `[${linkLabel(label)}](${commandLink('outrigger.answer', { questionId: question.id, answer })})`,
              );
    if (question.place && question.kind.kind !== 'overwrite') {
        links.push(`[Show it](${commandLink('outrigger.reveal', { questionId: question.id })})`);
    }
    return `${withoutLinks(question.title)} ${links.join(' · ')}`;
}

/** What the agent writes must never become a link that runs a command. */
export function withoutLinks(text: string): string {
    return text.replace(/\]\(/g, '] (').replace(/\s+/g, ' ');
}

function linkLabel(text: string): string {
    return text.replace(/[[\]]/g, ' ').replace(/\s+/g, ' ').trim() || 'Answer';
}
