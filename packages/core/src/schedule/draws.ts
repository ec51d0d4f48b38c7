import { deriveSeed } from '../random.js';
import { shuffleIndices } from '../random.js';

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
