/** What one model did on one task at one temperature. Episodes that were lost to an outage are not in it. */
export type ProbedTask = {
  readonly taskId: string;
  readonly outcomes: readonly EpisodeOutcome[];
  /** Answers of the models that learn, and how many of them a token limit cut. */
  readonly answers: number;
  readonly cutAnswers: number;
  /** Answers with a tool call that could not be read. */
  readonly unreadCalls: number;
};

/** One episode. */
export type EpisodeOutcome = {
  /** A name for the rewards of the episode. Episodes with equal rewards have equal names. Null: the agent failed. */
  readonly value: string | null;
  readonly isSuccess: boolean;
  /** Whether the run trains no token of it, although its rewards are compared. Absent: no. */
  readonly isMasked?: boolean;
};

/** Decides whether a group of episodes has a gradient. */
export type GroupRules = {
  /** A group that has a failed episode is dropped. */
  readonly dropsFailed: boolean;
  /** The share of a group's episodes that must complete before the group can train. At least two must complete. */
  readonly minShare: number;
  /** A value of this set gives a gradient even if all episodes of a group have it. Empty for most algorithms. */
  readonly trainedIfEqual: ReadonlySet<string>;
};

/** How often each value occurred in a task. */
export type ValueCounts = {
  readonly counts: ReadonlyMap<string, number>;
  /** The same of masked episodes alone. */
  readonly masked: ReadonlyMap<string, number>;
  /** The sum of the counts. */
  readonly completed: number;
  readonly failed: number;
};

export function countValues({ outcomes }: Pick<ProbedTask, 'outcomes'>): ValueCounts {
  const completed = outcomes.filter(({ value }) => value !== null).length;
  return {
    counts: countEach(outcomes),
    masked: countEach(outcomes.filter(({ isMasked }) => isMasked === true)),
    completed,
    failed: outcomes.length - completed,
  };
}

function countEach(outcomes: readonly EpisodeOutcome[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { value } of outcomes) if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}
