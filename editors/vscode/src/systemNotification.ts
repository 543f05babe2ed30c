// A notification of the operating system, for when nobody looks at the window. VS Code has none of its own for extensions,
// so the system's own program is asked. Decides what is run; `extension host` and screen must be the same machine.

export interface NotificationProgram {
    file: string;
    arguments: string[];
}

/** `undefined`: this system has no such program. The texts are arguments, never a part of a command line. */
export function notificationProgram(
    platform: NodeJS.Platform,
    title: string,
    text: string,
): NotificationProgram | undefined {
    switch (platform) {
        case 'linux':
        case 'freebsd':
        case 'openbsd':
            return { file: 'notify-send', arguments: ['--app-name=VS Code', '--', title, text] };
        case 'darwin':
            return {
                file: 'osascript',
                arguments: [
                    '-e',
                    'on run words',
                    '-e',
                    'display notification (item 2 of words) with title (item 1 of words)',
                    '-e',
                    'end run',
                    title,
                    text,
                ],
            };
        default:
            return undefined;
    }
}
