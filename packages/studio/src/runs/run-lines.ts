import path from 'node:path';
import type { MetricsRecord } from '@agentjet/run-folder';
import type { MetricsChunk } from '../wire.js';
import { FollowedLines } from './follow-lines.js';

/** Reads the lines of metrics.jsonl, evaluations.jsonl, log.jsonl and system.jsonl of a run as the files grow. */
export class RunLines {
  readonly #metrics: FollowedLines;
  readonly #evaluations: FollowedLines;
  readonly #log: FollowedLines;
  readonly #system: FollowedLines;

  constructor(dir: string) {
    this.#metrics = new FollowedLines(path.join(dir, 'metrics.jsonl'));
    this.#evaluations = new FollowedLines(path.join(dir, 'evaluations.jsonl'));
    this.#log = new FollowedLines(path.join(dir, 'log.jsonl'));
    this.#system = new FollowedLines(path.join(dir, 'system.jsonl'));
  }

  get steps(): readonly MetricsRecord[] {
    return this.#metrics.lines.filter(isMetrics);
  }

  /** Ordered by step. If a step was evaluated twice, the newer line counts. */
  get evaluations(): readonly MetricsRecord[] {
    const byStep = new Map(this.#evaluations.lines.filter(isMetrics).map((line) => [line.step, line]));
    return [...byStep.values()].sort((a, b) => a.step - b.step);
  }

  get log() {
    return this.#log.lines;
  }

  /** Resolves with the lines of system.jsonl. `refresh` does not read this file. */
  async system() {
    await this.#system.refresh();
    return this.#system.lines;
  }

  /** Changes with every line that is read. Send it to `chunkAfter` to get only later lines. */
  get cursor(): string {
    return `${this.#generation}-${this.#metrics.lines.length}-${this.#evaluations.lines.length}`;
  }

  get #generation(): string {
    return `${this.#metrics.generation}.${this.#evaluations.generation}`;
  }

  /** Resolves with true if anything changed. */
  async refresh(): Promise<boolean> {
    const changed = await Promise.all([this.#metrics, this.#evaluations, this.#log].map((lines) => lines.refresh()));
    return changed.includes(true);
  }

  /**
   * Returns the lines after a cursor of an earlier chunk. Returns all lines if the cursor is unknown or the run was
   * rewound.
   */
  chunkAfter(cursor: string): MetricsChunk {
    const steps = this.#metrics.lines;
    const evaluations = this.#evaluations.lines;
    const known = /^(\d+\.\d+)-(\d+)-(\d+)$/.exec(cursor);
    const isReset = known?.[1] !== this.#generation;
    return {
      cursor: this.cursor,
      isReset,
      steps: steps.slice(isReset ? 0 : Number(known?.[2])).filter(isMetrics),
      evaluations: evaluations.slice(isReset ? 0 : Number(known?.[3])).filter(isMetrics),
    };
  }
}

const isMetrics = (line: Readonly<Record<string, unknown>>): line is MetricsRecord => typeof line['step'] === 'number';
