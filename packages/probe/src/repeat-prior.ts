import type { ValueCounts } from './outcomes.js';

/**
 * How often an episode repeats the rewards of another episode of its task. Take a random episode of a random task; `q`
 * is the chance that one more episode of that task gets the same rewards. A group of n episodes then has equal rewards
 * with chance E[q^(n-1)]. This holds for any number of different rewards.
 *
 * The distribution of `q` is estimated from the counts of all tasks, without an assumption about its shape. It also
 * predicts groups that are larger than the number of episodes of a task.
 */
export type RepeatPrior = {
  /** The share of episodes for each value of `q` in `chances`. */
  readonly weights: readonly number[];
};

/** The observation at one episode: its task has `others` other episodes, and `repeats` of them got the same rewards. */
export type Repeats = { readonly repeats: number; readonly others: number };

type Observation = Repeats & { readonly weight: number };

const numChances = 41;
const chances = Array.from({ length: numChances }, (_, index) => index / (numChances - 1));
/**
 * The number of rounds. With many more, the estimate would fit the noise of the sample. With only a few, it would stay
 * uniform.
 */
const numRounds = 100;

/**
 * Maximizes the likelihood by expectation and maximization (Dempster, Laird and Rubin 1977) from a uniform start. Without a
 * task that has two completed episodes, the result is uniform.
 */
export function fitRepeatPrior(tasks: readonly ValueCounts[]): RepeatPrior {
  const observations = mergeEqual(tasks.flatMap(observationsOf));
  const total = observations.reduce((sum, { weight }) => sum + weight, 0);
  let weights: readonly number[] = chances.map(() => 1 / numChances);
  if (total === 0) return { weights };
  for (let round = 0; round < numRounds; round++) {
    const next = chances.map(() => 0);
    for (const observation of observations)
      for (const [index, share] of posterior({ weights }, observation).entries())
        next[index] = (next[index] ?? 0) + (share * observation.weight) / total;
    weights = next;
  }
  return { weights };
}

/** Returns the chance that `more` further episodes have the same rewards too. */
export function chanceOfRepeats(prior: RepeatPrior, seen: Repeats, more: number): number {
  return posterior(prior, seen).reduce((sum, share, index) => sum + share * (chances[index] ?? 0) ** more, 0);
}

/** The distribution of `q` for an episode with this observation. */
function posterior({ weights }: RepeatPrior, { repeats, others }: Repeats): readonly number[] {
  const joint = chances.map((q, index) => (weights[index] ?? 0) * q ** repeats * (1 - q) ** (others - repeats));
  const total = joint.reduce((sum, value) => sum + value, 0);
  return total === 0 ? weights : joint.map((value) => value / total);
}

/** Returns the observations of a task, with weights that add up to 1. */
function observationsOf({ counts, completed }: ValueCounts): readonly Observation[] {
  if (completed < 2) return [];
  return [...counts.values()].map((count) => ({
    repeats: count - 1,
    others: completed - 1,
    weight: count / completed,
  }));
}

function mergeEqual(observations: readonly Observation[]): readonly Observation[] {
  const merged = new Map<string, Observation>();
  for (const { repeats, others, weight } of observations) {
    const key = `${repeats}/${others}`;
    merged.set(key, { repeats, others, weight: weight + (merged.get(key)?.weight ?? 0) });
  }
  return [...merged.values()];
}
