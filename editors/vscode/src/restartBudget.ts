// How often a process that ends may be started again. Pure.

export class RestartBudget {
    readonly #restarts: number[] = [];

    /** At most `most` restarts within `window` milliseconds. */
    constructor(
        private readonly most = 4,
        private readonly window = 180_000,
    ) {}

    /** Whether the process may be started again at `now`; if so, that counts. */
    mayRestart(now: number): boolean {
        while (this.#restarts[0] !== undefined && now - this.#restarts[0] > this.window) {
            this.#restarts.shift();
        }
        if (this.#restarts.length >= this.most) {
            return false;
        }
        this.#restarts.push(now);
        return true;
    }
}
