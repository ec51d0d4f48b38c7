import type { SampledTokens } from './sampled-tokens.js';

/**
 * The measurements of one cell of the release table (a tutorial on a backbone) for one version. The files
 * `results/<version>/<tutorial>.<backbone>.json` hold exactly this, in snake_case like all our files.
 */

/** A training from which the cell's own training continues, on the same held-out tasks. */
export type Stage = Pick<SeedResult, 'success_before' | 'success_after' | 'kinds_before' | 'kinds_after'> & {
  readonly name: string;
  /** The source of the weights that the stage began with, if they are not those of the cell's model. */
  readonly model_source?: { readonly [key: string]: unknown };
};

/** How a judging model agrees with labelled answers that it has not seen, as `ajet judge` reports. */
export type JudgeAgreement = {
  readonly examples: number;
  /** Answers without a verdict. */
  readonly failed: number;
  readonly agreement: number | null;
  readonly rank_correlation: number | null;
};

/**
 * The wall time of a run and its parts. The judge is asked while other episodes are sampled, so its time is part of
 * `sampling` and `evaluation`.
 */
type Seconds = {
  readonly sampling: number;
  readonly training: number;
  /** Missing in older results, which did not record it. */
  readonly evaluation?: number;
  /** The start, checkpoints and everything else. Missing in the same results as `evaluation`. */
  readonly rest?: number;
  readonly total: number;
  /** The sum over all episodes, which run at the same time. Missing in the same results as `evaluation`. */
  readonly judge?: number;
};

export type SeedResult = {
  readonly seed: number;
  readonly stages?: readonly Stage[];
  /** Present if the judge of the cell is a frozen model. */
  readonly judge?: JudgeAgreement;
  /** The source of the weights that the run began with, and their SHA-256, as its model.json says. Missing for a bundled model. */
  readonly model_source?: { readonly [key: string]: unknown };
  /** The share of the held-out tasks that succeed, 0..1; null if the configuration evaluates nothing. */
  readonly success_before: number | null;
  readonly success_after: number | null;
  /** The same by the kind of the task, if the tasks name kinds. Missing in older results. */
  readonly kinds_before?: { readonly [kind: string]: number };
  readonly kinds_after?: { readonly [kind: string]: number };
  /** Means of the judge's parts over the held-out tasks, if it has parts. */
  readonly parts_before?: { readonly [part: string]: number };
  readonly parts_after?: { readonly [part: string]: number };
  /** Training success at these steps; null if the run is shorter. */
  readonly success_at: { readonly [step: string]: number | null };
  readonly success_mean_last_20: number;
  /** Mean training success over all steps, 0..1, which shows how fast it learned. */
  readonly area_under_curve: number;
  readonly generated_tokens: number;
  /** Present if the run learned from a teacher that was trained with rewards. */
  readonly sampled_tokens?: SampledTokens;
  readonly trained_tokens: number;
  readonly seconds: Seconds;
  /** The largest resident memory of the process that trains. Missing in older results. */
  readonly peak_gib?: number;
  /** Load averages of the last minute, before the run and after it. Missing in older results. */
  readonly load?: readonly number[];
  readonly forks: number;
  readonly failed_episodes: number;
  readonly groups_skipped: number;
  /** Mean over the steps of the mean gap between trainer's and sampler's logprobs, in nats. */
  readonly logprob_gap_mean: number;
  /** The hash of metrics.jsonl without its seconds. Equal hashes mean the same run, to the last digit. */
  readonly metrics_sha256: string;
  /** CPU seconds of the reference calculation over CPU seconds of this run; higher is faster. */
  readonly speed: number;
  /** The outcome of every held-out task after training, by task id. */
  readonly outcomes: { readonly [taskId: string]: boolean };
  /**
   * How the episodes of these tasks ended: reward and the workflow's metadata, or the error, cut to 200 characters.
   * Missing in older results.
   */
  readonly endings?: { readonly [taskId: string]: string };
};

export type CellResult = {
  readonly version: string;
  readonly commit: string;
  readonly clean: boolean;
  readonly date: string;
  readonly machine: { readonly [key: string]: unknown };
  readonly libraries: { readonly [name: string]: string };
  readonly tutorial: string;
  readonly backbone: string;
  readonly model: string;
  /** Hashes of the model's weights and of the resolved configuration, without seed and folders. */
  readonly model_sha256: string;
  readonly config_sha256: string;
  readonly seeds: readonly SeedResult[];
  /** Seeds that ended with an error and have no result. Missing if there are none. */
  readonly failed?: readonly { readonly seed: number; readonly stages?: readonly Stage[]; readonly error: string }[];
};
