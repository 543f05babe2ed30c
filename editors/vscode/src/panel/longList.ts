// A list of any length: only the rows in sight are on the page.

import { element } from './elements';
import { isAtEnd, visibleRows } from './virtualList';

const ROW_HEIGHT = 22;
const MARGIN = 10;

export interface LongListParts<Row> {
    /** For those who do not see it. */
    label: string;
    /** Class of the list, and the name by which tests find it. */
    name: string;
    /** The user wants to see more of this row. */
    choose: (row: Row) => void;
    /** Class and content of a row, and its text as a whole. */
    draw: (row: Row) => { tone: string; text: string; parts: (Node | string)[] };
    /** Whether a reader at the end sees what is added. */
    follows: boolean;
}

export class LongList<Row> {
    readonly root: HTMLElement;
    readonly #content: HTMLElement;
    readonly #rows: Row[] = [];
    /** Rows on the page, by their index. */
    readonly #shown = new Map<number, HTMLElement>();
    #current = -1;
    #drawing = false;

    constructor(private readonly parts: LongListParts<Row>) {
        this.#content = element('div', { class: 'long-list-content', role: 'presentation' });
        this.root = element(
            'div',
            {
                class: `long-list ${parts.name}`,
                role: 'listbox',
                tabindex: '0',
                'aria-label': parts.label,
                'data-testid': parts.name,
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
    put(from: number, rows: readonly Row[]): void {
        const following =
            this.parts.follows && isAtEnd(this.root.scrollTop, this.root.clientHeight, this.root.scrollHeight);
        this.#rows.length = Math.min(from, this.#rows.length);
        for (const [index, shown] of this.#shown) {
            if (index >= from) {
                shown.remove();
                this.#shown.delete(index);
            }
        }
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
        for (const [index, shown] of this.#shown) {
            if (index < first || index >= end) {
                shown.remove();
                this.#shown.delete(index);
            }
        }
        // A row that stays is the same element: a click that begins on it must end on it.
        for (let index = first; index < end; index += 1) {
            const row = this.#rows[index];
            if (row === undefined) {
                continue;
            }
            let shown = this.#shown.get(index);
            if (!shown) {
                shown = this.#row(row, index);
                this.#shown.set(index, shown);
                this.#content.insertBefore(shown, this.#shown.get(index + 1) ?? null);
            }
            shown.setAttribute('aria-setsize', String(this.#rows.length));
            shown.setAttribute('aria-selected', String(index === this.#current));
        }
        if (this.#current >= first && this.#current < end) {
            this.root.setAttribute('aria-activedescendant', this.#id(this.#current));
        } else {
            this.root.removeAttribute('aria-activedescendant');
        }
    }

    #row(row: Row, index: number): HTMLElement {
        const { tone, text, parts } = this.parts.draw(row);
        const made = element(
            'div',
            {
                id: this.#id(index),
                class: `row tone-${tone}`,
                role: 'option',
                'aria-posinset': String(index + 1),
                title: text,
                click: () => this.#choose(index),
            },
            ...parts,
        );
        made.style.top = `${index * ROW_HEIGHT}px`;
        return made;
    }

    #choose(index: number): void {
        const row = this.#rows[index];
        if (row) {
            this.#current = index;
            this.#draw();
            this.parts.choose(row);
        }
    }

    #id(index: number): string {
        return `${this.parts.name}-${index}`;
    }

    #focus(): void {
        if (this.#current === -1 && this.#rows.length > 0) {
            this.#current = this.parts.follows ? this.#rows.length - 1 : 0;
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
