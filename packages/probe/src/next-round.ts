/**
 * How many episodes a probe runs. It begins with a few episodes of 16 tasks, which show how long episodes take. Then it
 * makes more rounds as long as they fit into its time. Twice as many tasks are taken if there is time for enough episodes of
 * each, because a prediction from more tasks is more exact.
 */

export type ProbePlan = {
  /** Tasks that the probe can choose from. */
  readonly available: number;
  /** The least number of tasks, or all of them if there are fewer. */
  readonly leastTasks: number;
  readonly mostTasks: number;
  /** Episodes of each task and temperature in one round. */
  readonly perRound: number;
  /** From this number of episodes of each task and temperature on, more tasks are preferred to more episodes. */
  readonly enoughEpisodes: number;
  /** Episodes of each task and temperature, at most. A multiple of `perRound`. */
  readonly mostEpisodes: number;
  readonly numTemperatures: number;
};

/**
 * Runs `numEpisodes` episodes of each task at every temperature. The tasks are those from `firstTask` up to, but not
 * including, `endTask`.
 */
export type Round = { readonly firstTask: number; readonly endTask: number; readonly numEpisodes: number };

export type Progress = {
  readonly rounds: readonly Round[];
  /** The time that the rounds took. */
  readonly seconds: number;
  /** The time that the probe may take. Null: unknown, so there is only one round. */
  readonly budgetSeconds: number | null;
};

/** Undefined if the probe is done. The first round does not depend on the budget. */
export function nextRound(plan: ProbePlan, { rounds, seconds, budgetSeconds }: Progress): Round | undefined {
  const { available, leastTasks, perRound } = plan;
  const begun = Math.min(available, leastTasks);
  if (rounds.length === 0) return begun === 0 ? undefined : { firstTask: 0, endTask: begun, numEpisodes: perRound };
  const perEpisode = seconds / sumEpisodes(plan, rounds);
  const affordable = perEpisode === 0 ? Number.POSITIVE_INFINITY : (budgetSeconds ?? 0) / perEpisode;
  const next = planNext(plan, rounds, affordable);
  if (next === undefined) return undefined;
  return sumEpisodes(plan, [...rounds, next]) <= affordable ? next : undefined;
}

/** `affordable` is the number of episodes for which there is time. */
function planNext(plan: ProbePlan, rounds: readonly Round[], affordable: number): Round | undefined {
  const { available, leastTasks, mostTasks, perRound, mostEpisodes, enoughEpisodes, numTemperatures } = plan;
  const begun = Math.min(available, leastTasks);
  if (rounds.length === 1) {
    const wanted = Math.min(available, 2 * leastTasks, Math.floor(affordable / (enoughEpisodes * numTemperatures)));
    if (wanted > begun) return { firstTask: begun, endTask: wanted, numEpisodes: perRound };
  }
  const [, second] = rounds;
  const base = second !== undefined && second.firstTask > 0 ? second.endTask : begun;
  const ofFirst = rounds.reduce((sum, { firstTask, numEpisodes }) => sum + (firstTask === 0 ? numEpisodes : 0), 0);
  if (ofFirst < mostEpisodes) return { firstTask: 0, endTask: base, numEpisodes: perRound };
  const firstTask = rounds.reduce((most, { endTask }) => Math.max(most, endTask), 0);
  const left = affordable - sumEpisodes(plan, rounds);
  const more = Math.min(leastTasks, Math.floor(left / (mostEpisodes * numTemperatures)));
  const endTask = Math.min(available, mostTasks, firstTask + more);
  return firstTask < endTask ? { firstTask, endTask, numEpisodes: mostEpisodes } : undefined;
}

/** The episodes of all rounds. */
export function sumEpisodes({ numTemperatures }: Pick<ProbePlan, 'numTemperatures'>, rounds: readonly Round[]): number {
  return rounds.reduce(
    (sum, { firstTask, endTask, numEpisodes }) => sum + (endTask - firstTask) * numEpisodes * numTemperatures,
    0,
  );
}
