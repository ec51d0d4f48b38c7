import type { CommonConfig } from '@agentjet/core';
import type { MetricsRecord } from '@agentjet/run-folder';

/** The part of an episode's line in `episodes/` that rules read. */
export type EpisodeFacts = {
  readonly episode_id: string;
  readonly swallowed_errors?: readonly {
    readonly agent_name: string;
    readonly message: string;
    readonly times: number;
  }[];
};

/** How many steps rules look back. */
export const stepsKept = 5;

/** The records that a run has written so far. */
export type RunRecords = {
  readonly config: CommonConfig;
  /** The last lines of `metrics.jsonl`, oldest first, at most `stepsKept`. */
  readonly steps: readonly MetricsRecord[];
  /** The first and the last step that trained something. Undefined if none has. */
  readonly trained: { readonly first: MetricsRecord; readonly last: MetricsRecord } | undefined;
  /** The highest mean success of `stepsKept` steps in a row. Undefined before there are as many steps. */
  readonly bestSuccess: number | undefined;
  /** All lines of `evaluations.jsonl`, oldest first. */
  readonly evaluations: readonly MetricsRecord[];
  /** The number of tasks that were sampled, by kind, over all steps. */
  readonly tasksByKind: ReadonlyMap<string, number>;
  /** The lines of the episodes since the rules were last asked, including those of an evaluation. */
  readonly episodes: readonly EpisodeFacts[];
};

export type RuleFinding = {
  /** The message names the problem with its figure, and the remedy. */
  readonly message: string;
};

/** One thing that can keep a run from learning. */
export interface Rule {
  /** The name in snake_case. */
  readonly name: string;
  /**
   * Returns a finding, or undefined if the records do not show the problem. It is called after every step, so it must
   * be fast.
   */
  find(records: RunRecords): RuleFinding | undefined;
}
