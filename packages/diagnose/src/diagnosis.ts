import type { CommonConfig } from '@agentjet/core';
import type { MetricsRecord } from '@agentjet/run-folder';
import { RunHistory, type EarlierLines } from './history.js';
import type { EpisodeFacts, RuleFinding, Rule } from './rule.js';
import { rules as allRules } from './rules.js';
import { collapseOf } from './rules/collapse.js';

/** A new line of the run folder. */
export type NewLine = { readonly step: MetricsRecord } | { readonly evaluation: MetricsRecord };

export type DiagnosisOptions = {
  /** Default: all. */
  readonly rules?: readonly Rule[];
  /** The lines of the earlier part of a resumed run. Default: none. */
  readonly earlier?: EarlierLines | undefined;
};

/** Diagnoses a run in progress. After every line, it asks each rule that has not found anything yet. */
export class Diagnosis {
  readonly #history: RunHistory;
  #silent: readonly Rule[];

  constructor(config: CommonConfig, { rules = allRules, earlier }: DiagnosisOptions = {}) {
    this.#history = new RunHistory(config, earlier);
    this.#silent = rules;
  }

  /** `episodes` are the episodes since the last call. */
  look(line: NewLine, episodes: readonly EpisodeFacts[]): readonly RuleFinding[] {
    if ('step' in line) this.#history.addStep(line.step);
    else this.#history.addEvaluation(line.evaluation);
    const records = this.#history.records(episodes);
    const found = this.#silent.flatMap((rule) => {
      const finding = rule.find(records);
      return finding === undefined ? [] : [{ rule, finding }];
    });
    this.#silent = this.#silent.filter((rule) => !found.some((each) => each.rule === rule));
    return found.map(({ finding }) => finding);
  }

  /** The reason to end the run if `trainer_common.stop_on_collapse` is true. Undefined if the model has not collapsed. */
  collapse(): string | undefined {
    return collapseOf(this.#history.records());
  }
}
