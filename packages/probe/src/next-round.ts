/**
 * How many episodes a probe runs. It begins with a few episodes of 16 tasks, which show how long episodes take. Then it
 * makes more rounds as long as they fit into its time: first up to 16 episodes of each task, then more tasks, because a
 * prediction from more tasks is more exact.
 */

export type ProbePlan = {
  /** Tasks that the probe can choose from. */
  readonly available: number;
  /** The least number of tasks, if there are so many. */
  readonly leastTasks: number;
  readonly mostTasks: number;
  /** Episodes of each task and temperature in one round. */
  readonly perRound: number;
  /** Episodes of each task and temperature, at most. A multiple of `perRound`. */
  readonly mostEpisodes: number;
  readonly numTemperatures: number;
};

/** The tasks from `firstTask` to before `endTask` run `numEpisodes` episodes each at every temperature. */
export type Round = { readonly firstTask: number; readonly endTask: number; readonly numEpisodes: number };

export type Progress = {
  readonly rounds: readonly Round[];
  /** The time that the rounds took. */
  readonly seconds: number;
  /** The time that the probe may take. Null: unknown, so only the least number of tasks is probed. */
  readonly budgetSeconds: number | null;
};

/** Undefined if the probe is done. The first round does not depend on the budget. */
export function nextRound(plan: ProbePlan, { rounds, seconds, budgetSeconds }: Progress): Round | undefined {
  const { available, leastTasks, mostTasks, perRound, mostEpisodes } = plan;
  const begun = Math.min(available, leastTasks);
  const next = planNext();
  if (next === undefined || rounds.length === 0) return next;
  const secondsOfNext = (countEpisodes(plan, next) * seconds) / sumEpisodes(plan, rounds);
  return seconds + secondsOfNext <= (budgetSeconds ?? 0) ? next : undefined;

  function planNext(): Round | undefined {
    const ofFirst = rounds
      .filter(({ firstTask }) => firstTask === 0)
      .reduce((sum, { numEpisodes }) => sum + numEpisodes, 0);
    if (ofFirst < mostEpisodes) return { firstTask: 0, endTask: begun, numEpisodes: perRound };
    const firstTask = rounds.reduce((most, { endTask }) => Math.max(most, endTask), 0);
    const endTask = Math.min(available, mostTasks, firstTask + Math.ceil(leastTasks / 2));
    return firstTask < endTask ? { firstTask, endTask, numEpisodes: mostEpisodes } : undefined;
  }
}

/** The episodes of all rounds. */
export function sumEpisodes(plan: Pick<ProbePlan, 'numTemperatures'>, rounds: readonly Round[]): number {
  return rounds.reduce((sum, round) => sum + countEpisodes(plan, round), 0);
}

const countEpisodes = (
  { numTemperatures }: Pick<ProbePlan, 'numTemperatures'>,
  { firstTask, endTask, numEpisodes }: Round,
): number => (endTask - firstTask) * numEpisodes * numTemperatures;
