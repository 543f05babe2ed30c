// What a run's gates have said last, as rows: what the run brought about first, then what was there before. Pure.

import type { Finding, GateId, GateReport, GateRound, GateRoundId, Outcome, Severity } from './protocol';

export interface FindingRow {
    /** One line. */
    text: string;
    severity: Severity;
    /** Whether it was not there when the run began. */
    isNew: boolean;
    /** Where it is, if that is in the workspace; line and UTF-16 column from 0. */
    place?: { path: string; line: number; column: number };
}

/** A gate with how it ended. */
export interface GateRow {
    gate: GateId;
    outcome: Outcome;
    findings: number;
    notes: string[];
}

/** More than anybody reads; the sidecar caps what it tells, too. */
const MOST_ROWS = 10_000;
const LONGEST = 400;

export class FindingLedger {
    readonly #why = new Map<GateRoundId, GateRound>();
    /** How often each finding was there before the run's first change. */
    readonly #before = new Map<string, number>();
    readonly #reports = new Map<GateId, GateReport>();
    #rows: FindingRow[] | undefined;
    #version = 0;

    /** Changes whenever there may be other rows. */
    get version(): number {
        return this.#version;
    }

    begin(round: GateRoundId, why: GateRound): void {
        this.#why.set(round, why);
    }

    report(round: GateRoundId, reports: readonly GateReport[]): void {
        for (const report of reports) {
            if (this.#why.get(round) === 'baseline') {
                for (const finding of report.findings) {
                    const key = keyOf(finding);
                    this.#before.set(key, (this.#before.get(key) ?? 0) + 1);
                }
            }
            const known = this.#reports.get(report.gate);
            // A gate that did not run says nothing about what it found before.
            const findings = saysSomething(report.outcome) || !known ? report.findings : known.findings;
            this.#reports.set(report.gate, { ...report, findings });
        }
        this.#rows = undefined;
        this.#version += 1;
    }

    gates(): GateRow[] {
        return [...this.#reports.values()].map(({ gate, outcome, findings, notes }) => ({
            gate,
            outcome,
            findings: findings.length,
            notes,
        }));
    }

    rows(): readonly FindingRow[] {
        this.#rows ??= this.#make();
        return this.#rows;
    }

    #make(): FindingRow[] {
        const left = new Map(this.#before);
        const rows = [...this.#reports.values()].flatMap(({ findings }) =>
            findings.map((finding) => {
                const key = keyOf(finding);
                const before = left.get(key) ?? 0;
                left.set(key, before - 1);
                return row(finding, before <= 0);
            }),
        );
        const order = (one: FindingRow) => (one.isNew ? 0 : 1);
        return rows.sort((one, other) => order(one) - order(other)).slice(0, MOST_ROWS);
    }
}

function saysSomething(outcome: Outcome): boolean {
    return outcome === 'pass' || outcome === 'fail';
}

/** The same finding has the same key, wherever its line has moved to. */
function keyOf({ gate, code, message, place }: Finding): string {
    const file = place ? place.file.path : '';
    return [gate, code ?? '', file, message.replace(/\d+/g, '0')].join('\0');
}

function row({ code, message, place, severity, source }: Finding, isNew: boolean): FindingRow {
    const start = place?.range.start;
    const where = place ? `${place.file.path}:${(start?.line ?? 0) + 1} ` : '';
    const text = `${where}${source}${code === null ? '' : ` ${code}`}: ${message.split('\n')[0] ?? ''}`;
    return {
        text: text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text,
        severity,
        isNew,
        ...(place?.file.in === 'workspace' && start
            ? { place: { path: place.file.path, line: start.line, column: start.utf16 } }
            : {}),
    };
}
