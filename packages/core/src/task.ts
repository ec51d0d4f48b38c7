/** One problem to solve. `taskId` is unique among the tasks of a reader. */
export type Task = {
  readonly taskId: string;
  /** The question. It is empty if `initMessages` contain everything. */
  readonly mainQuery: string;
  readonly initMessages: readonly { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }[];
  /** Any other data for the workflow or the judge: the solution, a map, a seed. */
  readonly metadata: Readonly<Record<string, unknown>>;
};

/** The result of a workflow. If `reward` is null or absent, the judge decides. */
export type WorkflowOutput = {
  /** A finite number on any scale. */
  readonly reward?: number | null;
  /**
   * Rewards of single targets, by target tag, such as `{ wolf: 1, villager: -1 }`. A target that is not named gets
   * `reward`. If `reward` is absent, the episode counts with their mean, and no judge is asked.
   */
  readonly rewards?: Readonly<Record<string, number>> | null;
  /** Counted in the success rate. If null or absent, an episode with a reward of at least 1 is a success. */
  readonly isSuccess?: boolean | null;
  /** Passed to the judge. It must be JSON. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Averaged into the step's metrics under `workflow/<name>`. */
  readonly logMetrics?: Readonly<Record<string, number>>;
};

/** The judgement of an episode. */
export type Verdict = {
  /** A finite number on any scale. */
  readonly reward: number;
  readonly isSuccess: boolean;
  /** Rewards of single targets, by target tag. A target that is not named gets `reward`. */
  readonly rewards?: Readonly<Record<string, number>>;
  /** The components of the reward, for people. They are recorded, and averaged into the metrics under `judge/<name>`. */
  readonly parts?: Readonly<Record<string, number>>;
  /** The reason in words, which is recorded. */
  readonly reason?: string;
};
