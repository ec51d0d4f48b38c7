/** One line of a run's file: figures by name, under their step. */
export type TrackedRow = {
  readonly step: number;
  /** `train/reward_mean` from metrics.jsonl, `eval/success_rate` from evaluations.jsonl. */
  readonly values: Readonly<Record<string, number>>;
};

/** Somewhere that figures go. */
export interface Tracker {
  /** Resolves once the rows are safe there. Rejects with what went wrong and the repair. */
  write(rows: readonly TrackedRow[]): Promise<void>;
  close(): Promise<void>;
}

export type TrackedRun = {
  readonly runDir: string;
  readonly project: string;
  readonly experiment: string;
  /** Tells it from the other runs of the experiment. Default: the name of its folder. */
  readonly name?: string;
};

export type TrackerRegistration = {
  readonly name: string;
  /** Whether it ignores a step that it already has: after `--from` its curves keep the steps that the run gave up. Default: false. */
  readonly keepsFirst?: boolean;
  open(run: TrackedRun): Promise<Tracker>;
};

export function defineTracker(registration: TrackerRegistration): TrackerRegistration {
  return registration;
}
