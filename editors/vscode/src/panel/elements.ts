// Making and updating parts of the page. Text is always set as text, so that nothing from outside becomes markup.

type Attributes = Record<string, string | boolean | ((event: Event) => void)>;

export function element<K extends keyof HTMLElementTagNameMap>(
    tag: K,
    attributes: Attributes = {},
    ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (typeof value === 'function') {
            made.addEventListener(name, value);
        } else if (value !== false) {
            made.setAttribute(name, value === true ? '' : value);
        }
    }
    made.append(...children);
    return made;
}

export function button(label: string, press: () => void, attributes: Attributes = {}): HTMLButtonElement {
    return element('button', { type: 'button', click: press, ...attributes }, label);
}

export function setText(node: Node, text: string): void {
    if (node.textContent !== text) {
        node.textContent = text;
    }
}

/**
 * Makes the children of `parent` those of `items`, in order. A child is made once for its key and kept as long as the key
 * is there, so that the focus and what is typed in it stay.
 */
export function keyed<T>(
    parent: HTMLElement,
    items: readonly T[],
    of: { key: (item: T) => string; make: (item: T) => HTMLElement; update?: (child: HTMLElement, item: T) => void },
): void {
    const children = new Map<string, HTMLElement>();
    for (const child of parent.children) {
        if (child instanceof HTMLElement && child.dataset['key'] !== undefined) {
            children.set(child.dataset['key'], child);
        }
    }
    let before: ChildNode | null = parent.firstChild;
    for (const item of items) {
        const key = of.key(item);
        let child = children.get(key);
        if (child) {
            children.delete(key);
            of.update?.(child, item);
        } else {
            child = of.make(item);
            child.dataset['key'] = key;
            of.update?.(child, item);
        }
        if (child === before) {
            before = child.nextSibling;
        } else {
            parent.insertBefore(child, before);
        }
    }
    for (const gone of children.values()) {
        gone.remove();
    }
}
