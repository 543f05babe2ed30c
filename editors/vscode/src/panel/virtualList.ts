// Which rows of a long list are on the page. Pure.

export interface Viewport {
    scrollTop: number;
    height: number;
    rowHeight: number;
    total: number;
    /** Rows kept above and below what is seen. */
    margin: number;
}

/** `first` inclusive, `end` exclusive. */
export function visibleRows({ scrollTop, height, rowHeight, total, margin }: Viewport): { first: number; end: number } {
    const top = Math.floor(Math.max(0, scrollTop) / rowHeight);
    const first = Math.max(0, Math.min(top, total) - margin);
    const end = Math.min(total, top + Math.ceil(height / rowHeight) + margin);
    return { first, end: Math.max(first, end) };
}

/** Whether a reader is at the end, so that new rows shall be followed. */
export function isAtEnd(scrollTop: number, height: number, contentHeight: number): boolean {
    return scrollTop + height >= contentHeight - 4;
}

/** A duration as people say it. */
export function durationText(milliseconds: number): string {
    const seconds = Math.max(0, Math.floor(milliseconds / 1000));
    if (seconds < 60) {
        return `${seconds} s`;
    }
    const minutes = Math.floor(seconds / 60);
    return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
