/** One problem. `taskId` is unique among the tasks of a reader. */
export type Task = {
  readonly taskId: string;
  readonly mainQuery: string;
  readonly initMessages: readonly { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }[];
  readonly metadata: Readonly<Record<string, unknown>>;
};

/** What a workflow returns. `reward` null or absent means: ask the judge. */
export type WorkflowOutput = {
  readonly reward?: number | null;
  readonly isSuccess?: boolean | null;
  /** Feeds the judge; must be JSON. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Averaged into the step's metrics under `workflow/<name>`. */
  readonly logMetrics?: Readonly<Record<string, number>>;
};

export type Verdict = { readonly reward: number; readonly isSuccess: boolean };
