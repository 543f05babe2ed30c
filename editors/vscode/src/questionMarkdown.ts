// A question as Markdown for a comment. Pure. Everything that comes from outside is shown as text, never as markup.

import type { OfferedAnswer } from './answers';
import { fenced } from './mentions';
import type { Question } from './protocol';

export function questionMarkdown(question: Question, offers: readonly OfferedAnswer[]): string {
    const detail = question.detail.trim();
    const parts = [`**${escapeMarkdown(question.title)}**`];
    if (question.kind.kind === 'command') {
        parts.push(fenced(question.kind.command));
    }
    if (detail !== '') {
        parts.push(fenced(detail));
    }
    const links = offers.map(({ label, effect, answer }) => {
        const target = commandLink('outrigger.answer', { questionId: question.id, answer });
        return `[${escapeMarkdown(label)}](${target} "${escapeTitle(effect)}")`;
    });
    if (links.length > 0) {
        parts.push(links.join(' &nbsp;·&nbsp; '));
    }
    return parts.join('\n\n');
}

/** A link that runs a command with one argument. */
export function commandLink(command: string, argument: unknown): string {
    // Brackets end a link's target in Markdown, and `encodeURIComponent` leaves them as they are.
    const encoded = encodeURIComponent(JSON.stringify([argument])).replace(
        /[()']/g,
        (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
    );
    return `command:${command}?${encoded}`;
}

export function escapeMarkdown(text: string): string {
    return text.replace(/[\\`*_{}[\]()#+\-.!|<>~&$:@]/g, '\\$&').replace(/\s*\n\s*/g, ' ');
}

function escapeTitle(text: string): string {
    return text.replace(/[\\"&<>]/g, (mark) => `&#${mark.charCodeAt(0)};`).replace(/\s+/g, ' ');
}
