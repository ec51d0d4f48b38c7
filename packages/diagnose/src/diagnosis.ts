import type { CommonConfig } from '@agentjet/core';
import type { MetricsRecord } from '@agentjet/run-folder';
import { stepsKept, type EpisodeFacts, type Finding, type Rule } from './rule.js';
import { rules as allRules } from './rules.js';

/** Diagnoses a run in progress. After every step, it asks each rule that has not found anything yet. */
export class Diagnosis {
  readonly #config: CommonConfig;
  #steps: readonly MetricsRecord[] = [];
  #silent: readonly Rule[];

  constructor(config: CommonConfig, rules: readonly Rule[] = allRules) {
    this.#config = config;
    this.#silent = rules;
  }

  /**
   * `metrics` is the line of the step, or undefined for an evaluation. `episodes` are the episodes since the last call.
   */
  look(metrics: MetricsRecord | undefined, episodes: readonly EpisodeFacts[]): readonly Finding[] {
    if (metrics !== undefined) this.#steps = [...this.#steps, metrics].slice(-stepsKept);
    const records = { config: this.#config, steps: this.#steps, episodes };
    const found = this.#silent.flatMap((rule) => {
      const finding = rule.find(records);
      return finding === undefined ? [] : [{ rule, finding }];
    });
    this.#silent = this.#silent.filter((rule) => !found.some((each) => each.rule === rule));
    return found.map(({ finding }) => finding);
  }
}
