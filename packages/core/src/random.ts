/** Every random choice of the system comes from one run seed through `deriveSeed`. */

export type Random = {
  /** Returns a uniform number in [0, 1). */
  next(): number;
  /** Returns a uniform integer in [0, limit). */
  int(limit: number): number;
};

/** Mulberry32 (T. Ettinger) has 32 bits of state and period 2^32. It suits sampling and shuffling, but not secrets. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  return { next, int: (limit) => Math.floor(next() * limit) };
}

/** Derives a 32-bit seed from a run seed and names of its purpose (FNV-1a over the parts, then one avalanche). */
export function deriveSeed(seed: number, ...parts: readonly (string | number)[]): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  const text = parts.length === 1 ? String(parts[0]) : parts.join('\u0000');
  for (let at = 0; at < text.length; at++) {
    const point = text.codePointAt(at) ?? 0;
    if (point > 0xffff) at++; // two code units
    hash = Math.imul(hash ^ point, 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Returns the numbers from 0 up to `count` in random order, the same for the same seed (Fisher and Yates). Shape [count]. */
export function shuffleIndices(count: number, seed: number): Uint32Array {
  const random = createRandom(seed);
  const indices = Uint32Array.from({ length: count }, (_, index) => index);
  for (let last = count - 1; last > 0; last--) {
    const pick = random.int(last + 1);
    const picked = indices[pick] ?? 0;
    indices[pick] = indices[last] ?? 0;
    indices[last] = picked;
  }
  return indices;
}

/**
 * The schedule of a run: the order in which a pass visits the tasks, the seeds of its episodes, and the rank of each draw in its batch.
 * An ordinary run and a swarm share it, so that one seed gives the same experiment in both. Passes count from 0.
 */

/** Returns the order of the tasks in a pass, as indices of their table. Shape [numTasks]. */
export const passOrder = (runSeed: number, pass: number, numTasks: number): Uint32Array =>
  shuffleIndices(numTasks, deriveSeed(runSeed, 'epoch', pass));

/** Returns the seed from which the seeds of a pass's episodes are derived. */
export const passSeed = (runSeed: number, pass: number): number => deriveSeed(runSeed, 'training', pass);

/** Returns the seed of all evaluations, so that they repeat the same episodes with other weights. */
export const evaluationSeed = (runSeed: number): number => deriveSeed(runSeed, 'evaluation');

/**
 * Returns the seed of an episode. It does not depend on the attempt, so that an attempt lost to an outage is repeated as the same
 * experiment. `earlier` counts how often its batch has drawn the task before in the same pass.
 */
export function placeSeed(seed: number, { taskId, place, earlier = 0 }: SeededPlace): number {
  return deriveSeed(seed, taskId, place, ...(earlier === 0 ? [] : [earlier]));
}

type SeededPlace = { readonly taskId: string; readonly place: number; readonly earlier?: number };

/** Returns the prefix of all draw names of a try: `e1-`, or `e1-try2-` if groups are drawn again because the first try expired. */
export const drawPrefix = (pass: number, expiries: number): string =>
  `e${pass + 1}-${expiries === 0 ? '' : `try${expiries + 1}-`}`;

/**
 * Returns the name of a draw, such as `e1-task7`, or `e1-task7#2` if its batch has drawn the task before. A batch is ordered by these
 * names as strings, and the episodes of a group by their places as strings: place 10 comes before place 2.
 */
export const drawName = (prefix: string, { taskId, earlier = 0 }: Omit<SeededPlace, 'place'>): string =>
  `${prefix}${taskId}${earlier === 0 ? '' : `#${earlier + 1}`}`;
