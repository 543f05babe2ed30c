// What `@file`, `@selection` and `@problems` in a prompt stand for. Pure.

export interface MentionContext {
    /** The active file, relative to the workspace folder. */
    file?: string;
    /** Selected text, with its first and last line counted from 1. */
    selection?: { text: string; first: number; last: number };
    /** Problems of the active file, one a line. */
    problems: string[];
}

/** The names that a prompt can mention, with what they stand for. */
export const mentions = {
    '@file': 'the file in front of you',
    '@selection': 'the selected lines and their text',
    '@problems': 'the problems of the file in front of you',
} as const;

/** The prompt with each mention named in place and its content below. A mention of what is not there stays as it is. */
export function expandMentions(prompt: string, context: MentionContext): string {
    const parts: string[] = [];
    const { file, selection, problems } = context;
    const text = prompt.replace(/(?<![\w@])@(file|selection|problems)\b/g, (mention, name: string) => {
        if (name === 'file' && file !== undefined) {
            return file;
        }
        if (name === 'selection' && file !== undefined && selection) {
            const lines =
                selection.first === selection.last
                    ? `line ${selection.first}`
                    : `lines ${selection.first} to ${selection.last}`;
            addOnce(parts, `Selected in ${file}, ${lines}:\n${fenced(selection.text)}`);
            return `${lines} of ${file}`;
        }
        if (name === 'problems' && file !== undefined && problems.length > 0) {
            addOnce(parts, `Problems of ${file}:\n${problems.join('\n')}`);
            return `the problems of ${file}`;
        }
        return mention;
    });
    return [text.trim(), ...parts].join('\n\n');
}

/** Text between fences that are longer than any run of back-ticks in it. */
export function fenced(text: string): string {
    const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((ticks) => ticks.length));
    const fence = '`'.repeat(longest + 1);
    return `${fence}\n${text.replace(/\n$/, '')}\n${fence}`;
}

function addOnce(parts: string[], part: string): void {
    if (!parts.includes(part)) {
        parts.push(part);
    }
}
