import type { BatchRules } from '@agentjet/ledger';

/** The settings of a swarm. Times are in milliseconds. */
export type SwarmSettings = {
  readonly rules: BatchRules;
  readonly numPlaces: number;
  /** The number of episodes that may run at the same time. */
  readonly capacity: number;
  readonly tickMs: number;
  /** An episode that runs for longer than this counts as failed. Default: no limit. */
  readonly episodeTimeoutMs?: number;
  /** Whether calls are also synced to disk before they are answered. */
  readonly syncsCalls?: boolean;
  /** The lease that a recovery gives to running episodes. */
  readonly leaseMs: number;
  /** How long a silent client keeps its name before another program can use it. */
  readonly aliveMs: number;
  readonly stragglerPatienceMs: number | null;
  /** The number of steps between evaluations; 0 for none. */
  readonly testFreq: number;
  readonly numEvaluationTasks: number;
  readonly evaluationPlaces: number;
  readonly evaluationPatienceMs: number;
  /** Whether to evaluate before the first step, if the evaluation tasks have arrived by then. */
  readonly evaluatesFirst?: boolean;
  /** The number of steps between checkpoints. */
  readonly saveFreq: number;
  readonly keptCheckpoints: number;
  /** A checkpoint is also due if repeating the steps since the last one would take longer than this. */
  readonly recoveryBudgetMs?: number;
  readonly maxSteps: number;
  /**
   * Training stops if no group can be trained and the failed episodes would fill this number of batches. Default: no
   * limit.
   */
  readonly maxEmptySteps?: number;
  /** The number of passes over the table of tasks. */
  readonly totalEpochs: number;
  /** How long a share may be without a client before it lends its places. Used only if `rules.isElastic` is set. */
  readonly sharePatienceMs?: number;
  /** If false, every pass visits the tasks in the order of their table. */
  readonly shuffle?: boolean;
  /** The seed for the order of tasks and for the seeds of episodes. */
  readonly seed: number;
  readonly maxFileBytes: number;
  readonly maxFileEntries: number;
};
