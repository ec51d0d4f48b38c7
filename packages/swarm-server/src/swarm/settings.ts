import type { BatchRules } from '@agentjet/ledger';

/** How a swarm runs. Times are in milliseconds. */
export type SwarmSettings = {
  readonly rules: BatchRules;
  readonly numPlaces: number;
  /** Episodes that may run at the same time. */
  readonly capacity: number;
  readonly tickMs: number;
  /** An episode that runs for longer has failed. Absent: it may run for ever. */
  readonly episodeTimeoutMs?: number;
  /** Calls, too, survive the end of the machine before they are answered. */
  readonly syncsCalls?: boolean;
  /** The lease of episodes that were running before a recovery. */
  readonly leaseMs: number;
  /** For how long a client that says nothing is still taken to be alive, when another uses its name. */
  readonly aliveMs: number;
  readonly stragglerPatienceMs: number | null;
  /** Steps between evaluations; 0: none. */
  readonly testFreq: number;
  readonly numEvaluationTasks: number;
  readonly evaluationPlaces: number;
  readonly evaluationPatienceMs: number;
  /** Evaluate before the first step too, if the tasks of evaluations are there by then. */
  readonly evaluatesFirst?: boolean;
  /** Steps between checkpoints. */
  readonly saveFreq: number;
  readonly keptCheckpoints: number;
  /** A checkpoint is due, too, when making the steps since the last one again would take longer. */
  readonly recoveryBudgetMs?: number;
  readonly maxSteps: number;
  /** Training stops when as many episodes as so many batches have failed and no group can be trained. Absent: never. */
  readonly maxEmptySteps?: number;
  /** Passes over the table of tasks. */
  readonly totalEpochs: number;
  /** How long a share may be without a client before it lends its places; only if `rules.isElastic`. */
  readonly sharePatienceMs?: number;
  /** False: every pass visits the tasks in the order of their table. */
  readonly shuffle?: boolean;
  /** Orders the tasks, and seeds their episodes. */
  readonly seed: number;
  readonly maxFileBytes: number;
  readonly maxFileEntries: number;
};
