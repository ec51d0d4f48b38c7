/** One line of a run's file: metrics by name, under their step. */
export type TrackedRow = {
  readonly step: number;
  /** Names such as `train/reward_mean` from metrics.jsonl and `eval/success_rate` from evaluations.jsonl. */
  readonly values: Readonly<Record<string, number>>;
};

/** A tool that receives metrics. */
export interface Tracker {
  /** Resolves once the tool has taken the rows. Rejects with the problem and the repair. */
  write(rows: readonly TrackedRow[]): Promise<void>;
  close(): Promise<void>;
}

export type TrackedRun = {
  readonly runDir: string;
  readonly project: string;
  readonly experiment: string;
  /** Distinguishes the run from other runs of the experiment. Default: the name of its folder. */
  readonly name?: string;
  /** The share of the episodes whose traces are sent. Default: all. */
  readonly traceSample?: number;
};

export type TrackerRegistration = {
  readonly name: string;
  /**
   * Whether the tool ignores a step that it already has. If it does, and `--from` sends the run back to an earlier
   * step, its curves keep the abandoned steps. Default: false.
   */
  readonly keepsFirst?: boolean;
  open(run: TrackedRun): Promise<Tracker>;
};

export function defineTracker(registration: TrackerRegistration): TrackerRegistration {
  return registration;
}
