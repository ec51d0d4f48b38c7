export type Outcomes = Readonly<Record<string, boolean>>;

export type Learning = {
  readonly learned: boolean;
  readonly tasks: number;
  readonly solvedBefore: number;
  readonly solvedAfter: number;
  /**
   * A one-sided sign test. It returns the probability of at least as many gains among the tasks whose outcome changed,
   * if gains and losses are equally likely.
   */
  readonly probabilityByChance: number;
};

/**
 * A model has learned if it solves more held-out tasks than before training, and chance alone would show that in fewer
 * than 1 of 100 runs.
 */
export function judgeLearning(before: Outcomes, after: Outcomes): Learning {
  const tasks = Object.keys(before);
  const missing = tasks.find((task) => after[task] === undefined);
  if (missing !== undefined || tasks.length === 0 || Object.keys(after).length !== tasks.length)
    throw new Error(
      `The evaluations before and after training are of different tasks: ${tasks.length} and ${Object.keys(after).length}.`,
    );
  const gained = tasks.filter((task) => before[task] === false && after[task] === true).length;
  const lost = tasks.filter((task) => before[task] === true && after[task] === false).length;
  const probabilityByChance = tailOfFairCoin(gained, gained + lost);
  const count = (outcomes: Outcomes): number => Object.values(outcomes).filter(Boolean).length;
  return {
    learned: probabilityByChance < 0.01,
    tasks: tasks.length,
    solvedBefore: count(before),
    solvedAfter: count(after),
    probabilityByChance,
  };
}

/** Returns P(at least `heads` of `tosses`). */
function tailOfFairCoin(heads: number, tosses: number): number {
  let probability = 0.5 ** tosses; // the probability of exactly k heads
  let tail = 0;
  for (let k = 0; k <= tosses; k++) {
    if (k >= heads) tail += probability;
    probability *= (tosses - k) / (k + 1);
  }
  return tail;
}
