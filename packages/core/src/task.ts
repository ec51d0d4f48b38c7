/** One problem. `taskId` is unique among the tasks of a reader. */
export type Task = {
  readonly taskId: string;
  /** The question; empty where `initMessages` say everything. */
  readonly mainQuery: string;
  readonly initMessages: readonly { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }[];
  /** Whatever else the workflow or the judge wants to know of it: the solution, a map, a seed. */
  readonly metadata: Readonly<Record<string, unknown>>;
};

/** What a workflow returns. `reward` null or absent means: ask the judge. */
export type WorkflowOutput = {
  /** Finite; any scale. */
  readonly reward?: number | null;
  /**
   * Rewards of single targets, by target tag, such as `{ wolf: 1, villager: -1 }`. A target that is not named has
   * `reward`. Without `reward` the episode counts with their mean, and no judge is asked.
   */
  readonly rewards?: Readonly<Record<string, number>> | null;
  /** What the success rate counts. Null or absent, beside a reward: whether that is at least 1. */
  readonly isSuccess?: boolean | null;
  /** Feeds the judge; must be JSON. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Averaged into the step's metrics under `workflow/<name>`. */
  readonly logMetrics?: Readonly<Record<string, number>>;
};

/** What a judge says of an episode. */
export type Verdict = {
  /** Finite; any scale. */
  readonly reward: number;
  readonly isSuccess: boolean;
  /** Rewards of single targets, by target tag; a target that is not named has `reward`. */
  readonly rewards?: Readonly<Record<string, number>>;
  /** What the reward is made of, for people: recorded, and averaged into the metrics under `judge/<name>`. */
  readonly parts?: Readonly<Record<string, number>>;
  /** Why, in words: recorded. */
  readonly reason?: string;
};
