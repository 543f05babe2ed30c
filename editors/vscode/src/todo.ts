// Finds comments that say what is to be done. Pure.

export interface TodoComment {
    /** From 0. */
    line: number;
    /** What the comment says after its mark. */
    text: string;
}

// A mark right after the beginning of a comment, with an owner in brackets perhaps: `// TODO(ada): …`.
const MARK = /(?:\/\/+!?|#+|--|;+|\/\*+|^\s*\*|<!--|%+|"{3})\s*(?:TODO|FIXME)\b(?:\([^)]*\))?:?\s*(.*)$/;

/** At most `limit` of them: a lens above every line of a generated file helps nobody. */
export function findTodos(text: string, limit = 200): TodoComment[] {
    const found: TodoComment[] = [];
    for (const [line, content] of text.split(/\r\n|\r|\n/).entries()) {
        // What is longer than any comment that a person writes is minified.
        const match = content.length <= 1000 ? MARK.exec(content) : null;
        if (!match) {
            continue;
        }
        found.push({ line, text: (match[1] ?? '').replace(/\s*(?:\*\/|-->)\s*$/, '').trim() });
        if (found.length >= limit) {
            break;
        }
    }
    return found;
}
