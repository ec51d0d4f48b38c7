/**
 * What one cell of the release table (a tutorial on a backbone) measured for one version. The files
 * `results/<version>/<tutorial>.<backbone>.json` hold exactly this, in snake_case as every file of ours.
 */

/** A training that the cell's own one goes on from, on the same held-out tasks. */
export type Stage = Pick<SeedResult, 'success_before' | 'success_after'> & { readonly name: string };

/** How a model that judged agrees with labelled answers that it has not seen, as `ajet judge` says. */
export type JudgeAgreement = {
  readonly examples: number;
  /** Without a verdict. */
  readonly failed: number;
  readonly agreement: number | null;
  readonly rank_correlation: number | null;
};

/** Wall time of a run and its parts. A judge is asked while others sample, so its time is within `sampling` and `evaluation`. */
type Seconds = {
  readonly sampling: number;
  readonly training: number;
  /** Missing in results that were kept before it was read. */
  readonly evaluation?: number;
  /** Start, checkpoints and all that no other part names; missing like `evaluation`. */
  readonly rest?: number;
  readonly total: number;
  /** Of all episodes together, each while others went on; missing like `evaluation`. */
  readonly judge?: number;
};

export type SeedResult = {
  readonly seed: number;
  readonly stages?: readonly Stage[];
  /** Of a cell whose judge is a frozen model. */
  readonly judge?: JudgeAgreement;
  /** Share of the held-out tasks that succeed, 0..1; null if the configuration evaluates nothing. */
  readonly success_before: number | null;
  readonly success_after: number | null;
  /** Means of the judge's parts over the held-out tasks, if it has parts. */
  readonly parts_before?: { readonly [part: string]: number };
  readonly parts_after?: { readonly [part: string]: number };
  /** Training success at these steps; null if the run is shorter. */
  readonly success_at: { readonly [step: string]: number | null };
  readonly success_mean_last_20: number;
  /** Mean training success over all steps, 0..1: how fast it learned. */
  readonly area_under_curve: number;
  readonly generated_tokens: number;
  readonly trained_tokens: number;
  readonly seconds: Seconds;
  readonly forks: number;
  readonly failed_episodes: number;
  readonly groups_skipped: number;
  /** Mean over the steps of the mean gap between trainer's and sampler's logprobs, nats. */
  readonly logprob_gap_mean: number;
  /** Of metrics.jsonl without its seconds. Equal hashes: the same run, to the last digit. */
  readonly metrics_sha256: string;
  /** CPU seconds of the reference calculation over CPU seconds of this run: higher is faster. */
  readonly speed: number;
  /** Outcome of every held-out task after training, by task id. */
  readonly outcomes: { readonly [taskId: string]: boolean };
  /** How the episodes of these tasks ended: reward and the workflow's metadata, or the error, cut to 200 characters. Missing in older results. */
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
  /** Of the model's weights and of the resolved configuration, without seed and folders. */
  readonly model_sha256: string;
  readonly config_sha256: string;
  readonly seeds: readonly SeedResult[];
};
