import type { JobListener } from '@agentjet/records';

/** The options of the methods of AgentJetJob. */

export type RunOptions = {
  /** Default: a line per event on stderr. */
  readonly onEvent?: JobListener;
  /** Aborting it finishes the step, saves a checkpoint and ends with `isInterrupted`. */
  readonly signal?: AbortSignal;
};

/** Options of `job.tune()`. */
export type TuneOptions = RunOptions & {
  /** True continues from the last checkpoint of the experiment's newest run. A string is the run folder to continue. */
  readonly resume?: boolean | string;
  /**
   * With `resume`, continues from this checkpoint, such as `step-20`, and not from the last one. Later checkpoints are
   * set aside.
   */
  readonly from?: string;
};

/** Options of `job.evaluate()`. */
export type EvaluateOptions = RunOptions & {
  /** A run folder (its last checkpoint), a checkpoint, or any model folder. Default: `model.path`. */
  readonly checkpoint?: string;
};

/** Options of `job.probe()`. */
export type ProbeOptions = RunOptions & {
  /** The least number of tasks. Default: 16. More are probed if there is time. */
  readonly tasks?: number;
  /** Temperatures in addition to `rollout.temperature`. Default: 0.7 if that is above 0.85, otherwise 1. */
  readonly temperatures?: readonly number[];
};

/** Options of `job.auditReward()`. */
export type AuditOptions = RunOptions & {
  /** The number of tasks. Default: 20, and 10 if the judge asks a model. */
  readonly tasks?: number;
  /** The field of the tasks' metadata that holds the right answer. Default: the field that the judge reads. */
  readonly expected?: string;
  /** The lowest reward of a success. Default: the verdicts say what a success is. */
  readonly successFrom?: number | null;
};

/** Options of `job.calibrateJudge()`. */
export type CalibrateOptions = {
  /**
   * A label of at least this value is a success. `is_success`, or a label of true or false, overrides this. Default: half
   * of the highest label.
   */
  readonly successFrom?: number | null;
  /** The number of concurrent examples. Default: 8. */
  readonly parallel?: number;
  readonly signal?: AbortSignal;
};

/** Options of `job.rescore()`. */
export type RescoreOptions = RunOptions & {
  /** Default: all steps. */
  readonly step?: number;
  /** The number of concurrent questions to the judge. Default: 8. */
  readonly parallel?: number;
};
