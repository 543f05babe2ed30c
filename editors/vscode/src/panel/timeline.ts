// A run's events as a list of any length: only the rows in sight are on the page.

import type { TimelineRow } from '../timelineRow';
import { element } from './elements';
import { isAtEnd, visibleRows } from './virtualList';

const ROW_HEIGHT = 22;
const MARGIN = 10;

export class Timeline {
    readonly root: HTMLElement;
    readonly #content: HTMLElement;
    readonly #rows: TimelineRow[] = [];
    #current = -1;
    #drawing = false;

    /** `choose` is called with the number of the event that the user wants to see whole. */
    constructor(private readonly choose: (seq: number) => void) {
        this.#content = element('div', { class: 'timeline-content', role: 'presentation' });
        this.root = element(
            'div',
            {
                class: 'timeline',
                role: 'listbox',
                tabindex: '0',
                'aria-label': 'Events of the run',
                'data-testid': 'timeline',
                scroll: () => this.#draw(),
                keydown: (event) => this.#key(event as KeyboardEvent),
                focus: () => this.#focus(),
            },
            this.#content,
        );
    }

    get length(): number {
        return this.#rows.length;
    }

    /** Puts rows at an index; what was there from that index on goes. */
    put(from: number, rows: readonly TimelineRow[]): void {
        const following = isAtEnd(this.root.scrollTop, this.root.clientHeight, this.root.scrollHeight);
        this.#rows.length = Math.min(from, this.#rows.length);
        // One by one: a call takes only so many arguments.
        for (const row of rows) {
            this.#rows.push(row);
        }
        this.#content.style.height = `${this.#rows.length * ROW_HEIGHT}px`;
        if (from === 0) {
            this.#current = -1;
        }
        if (following) {
            this.root.scrollTop = this.root.scrollHeight;
        }
        this.#draw();
    }

    /** At the next frame, however often it is asked for until then. */
    #draw(): void {
        if (this.#drawing) {
            return;
        }
        this.#drawing = true;
        requestAnimationFrame(() => {
            this.#drawing = false;
            this.#drawNow();
        });
    }

    #drawNow(): void {
        const { first, end } = visibleRows({
            scrollTop: this.root.scrollTop,
            height: this.root.clientHeight,
            rowHeight: ROW_HEIGHT,
            total: this.#rows.length,
            margin: MARGIN,
        });
        const rows = this.#rows.slice(first, end).map((row, index) => this.#row(row, first + index));
        this.#content.replaceChildren(...rows);
        if (this.#current >= first && this.#current < end) {
            this.root.setAttribute('aria-activedescendant', `event-${this.#current}`);
        } else {
            this.root.removeAttribute('aria-activedescendant');
        }
    }

    #row(row: TimelineRow, index: number): HTMLElement {
        const made = element(
            'div',
            {
                id: `event-${index}`,
                class: `event tone-${row.tone}`,
                role: 'option',
                'aria-posinset': String(index + 1),
                'aria-setsize': String(this.#rows.length),
                'aria-selected': String(index === this.#current),
                title: row.text,
                click: () => this.#choose(index),
            },
            element('span', { class: 'time' }, new Date(row.at).toLocaleTimeString()),
            element('span', { class: 'text' }, row.text),
        );
        made.style.top = `${index * ROW_HEIGHT}px`;
        return made;
    }

    #choose(index: number): void {
        const row = this.#rows[index];
        if (row) {
            this.#current = index;
            this.#draw();
            this.choose(row.seq);
        }
    }

    #focus(): void {
        if (this.#current === -1 && this.#rows.length > 0) {
            this.#current = this.#rows.length - 1;
            this.#draw();
        }
    }

    #key(event: KeyboardEvent): void {
        const page = Math.max(1, Math.floor(this.root.clientHeight / ROW_HEIGHT) - 1);
        const last = this.#rows.length - 1;
        const targets: Record<string, number> = {
            ArrowDown: this.#current + 1,
            ArrowUp: this.#current - 1,
            PageDown: this.#current + page,
            PageUp: this.#current - page,
            Home: 0,
            End: last,
        };
        const target = targets[event.key];
        if (target !== undefined) {
            event.preventDefault();
            this.#current = Math.max(0, Math.min(last, target));
            this.#scrollToCurrent();
            this.#draw();
        } else if (event.key === 'Enter' || event.key === ' ') {
            event.preventDefault();
            this.#choose(this.#current);
        }
    }

    #scrollToCurrent(): void {
        const top = this.#current * ROW_HEIGHT;
        const { clientHeight, scrollTop } = this.root;
        if (top < scrollTop) {
            this.root.scrollTop = top;
        } else if (top + ROW_HEIGHT > scrollTop + clientHeight) {
            this.root.scrollTop = top + ROW_HEIGHT - clientHeight;
        }
    }
}
