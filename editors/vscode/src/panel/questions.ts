// The inbox: open questions of all runs, oldest first. A card is made once, so that what is typed in it stays.

import type { FromPanel, QuestionCard } from '../panelMessages';
import { button, element, keyed, setText } from './elements';

export interface InboxContext {
    send: (message: FromPanel) => void;
    /** What was typed and not sent, by question. */
    drafts: () => Record<string, string>;
    draftsChanged: () => void;
}

export class Inbox {
    readonly root: HTMLElement;
    readonly #heading = element('h2', {}, 'Questions');
    readonly #list = element('div', { class: 'questions' });
    readonly #status = element('p', { class: 'hidden-visually', role: 'status' });

    constructor(private readonly context: InboxContext) {
        this.root = element(
            'section',
            { 'aria-label': 'Open questions', class: 'inbox' },
            this.#heading,
            this.#status,
            this.#list,
        );
    }

    show(cards: readonly QuestionCard[]): void {
        this.root.hidden = cards.length === 0;
        setText(this.#heading, cards.length === 1 ? '1 question' : `${cards.length} questions`);
        const newest = cards.at(-1);
        setText(this.#status, newest ? `${cards.length} open. ${newest.title}` : '');
        keyed(this.#list, cards, { key: (card) => card.id, make: (card) => this.#card(card) });
    }

    /** Says that an answer was not taken. */
    failed(questionId: string, text: string): void {
        const card = [...this.#list.children].find(
            (child) => child instanceof HTMLElement && child.dataset['key'] === questionId,
        );
        const place = card?.querySelector('.failure');
        if (place) {
            setText(place, text);
        }
    }

    #card(card: QuestionCard): HTMLElement {
        const { send } = this.context;
        const title = element('h3', { id: `title-${card.id}` }, card.title);
        const parts: HTMLElement[] = [title];
        const { place } = card;
        if (place !== undefined) {
            parts.push(
                button(place, () => send({ type: 'reveal', questionId: card.id }), {
                    class: 'link',
                    title: 'Show it in the editor',
                }),
            );
        }
        if (card.detail.trim() !== '') {
            parts.push(element('pre', { class: 'detail', tabindex: '0', 'aria-label': 'Details' }, card.detail.trim()));
        }
        const answers = element('div', { class: 'answers' });
        if (card.review !== undefined) {
            answers.append(
                button(card.review, () => send({ type: 'review', questionId: card.id }), { class: 'primary' }),
            );
        }
        for (const { label, effect, answer } of card.choices) {
            const press = () => send({ type: 'answer', questionId: card.id, answer });
            answers.append(button(label, press, { title: effect, class: card.review === undefined ? 'primary' : '' }));
        }
        parts.push(answers);
        if (card.words !== undefined) {
            parts.push(this.#words(card, card.words));
        }
        parts.push(element('p', { class: 'failure', role: 'alert' }));
        return element(
            'article',
            { class: 'question', 'aria-labelledby': `title-${card.id}`, 'data-testid': `question-${card.id}` },
            ...parts,
        );
    }

    #words(card: QuestionCard, label: string): HTMLElement {
        const { send, drafts, draftsChanged } = this.context;
        const field = element('textarea', { rows: '2', placeholder: label, 'aria-label': label });
        field.value = drafts()[card.id] ?? '';
        const answer = () => {
            if (field.value.trim() !== '') {
                send({ type: 'words', questionId: card.id, words: field.value });
            }
        };
        field.addEventListener('input', () => {
            drafts()[card.id] = field.value;
            draftsChanged();
        });
        field.addEventListener('keydown', (event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
                event.preventDefault();
                answer();
            }
        });
        return element('div', { class: 'words' }, field, button('Answer', answer, { title: 'Ctrl+Enter' }));
    }
}
