import type { CommonConfig } from '@agentjet/core';
import type { MetricsRecord } from '@agentjet/run-folder';
import { stepsKept, type EpisodeFacts, type RunRecords } from './rule.js';
import { meanSuccess } from './sums.js';

/** Lines that a run folder already has, for example because the run was resumed. */
export type EarlierLines = {
  readonly metrics: readonly MetricsRecord[];
  readonly evaluations: readonly MetricsRecord[];
};

const kindPrefix = 'tasks/';

/** The records of a run, as far as rules need them. Its size does not depend on the number of steps. */
export class RunHistory {
  readonly #config: CommonConfig;
  readonly #evaluations: MetricsRecord[] = [];
  readonly #tasksByKind = new Map<string, number>();
  #steps: readonly MetricsRecord[] = [];
  #trained: RunRecords['trained'];
  #bestSuccess: number | undefined;

  constructor(config: CommonConfig, { metrics, evaluations }: EarlierLines = { metrics: [], evaluations: [] }) {
    this.#config = config;
    for (const line of metrics) this.addStep(line);
    for (const line of evaluations) this.addEvaluation(line);
  }

  addStep(line: MetricsRecord): void {
    this.#steps = [...this.#steps, line].slice(-stepsKept);
    if ((line['trained_tokens'] ?? 0) > 0) this.#trained = { first: this.#trained?.first ?? line, last: line };
    if (this.#steps.length === stepsKept)
      this.#bestSuccess = Math.max(this.#bestSuccess ?? 0, meanSuccess(this.#steps));
    for (const [key, count] of Object.entries(line)) {
      if (!key.startsWith(kindPrefix)) continue;
      const kind = key.slice(kindPrefix.length);
      this.#tasksByKind.set(kind, (this.#tasksByKind.get(kind) ?? 0) + count);
    }
  }

  addEvaluation(line: MetricsRecord): void {
    this.#evaluations.push(line);
  }

  records(episodes: readonly EpisodeFacts[] = []): RunRecords {
    return {
      config: this.#config,
      steps: this.#steps,
      trained: this.#trained,
      bestSuccess: this.#bestSuccess,
      evaluations: this.#evaluations,
      tasksByKind: this.#tasksByKind,
      episodes,
    };
  }
}
