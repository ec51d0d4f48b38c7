import { createHash } from 'node:crypto';
import type { Example } from './example.js';

export type SplitExamples = { readonly training: readonly Example[]; readonly heldOut: readonly Example[] };

/**
 * Holds out about `share` of the tasks. A hash of the task decides, so a task does not change sides when more
 * transcripts are added later. If there are several tasks and the hash would hold out none or all of them, one task is
 * moved to the other side.
 */
export function splitExamples(examples: readonly Example[], share: number): SplitExamples {
  const keys = [...new Set(examples.map(({ taskKey }) => taskKey))].toSorted((a, b) => placeOf(a) - placeOf(b));
  const byHash = keys.filter((key) => placeOf(key) < share).length;
  const count = share === 0 || keys.length < 2 ? 0 : Math.min(Math.max(byHash, 1), keys.length - 1);
  const out = new Set(keys.slice(0, count));
  return {
    training: examples.filter(({ taskKey }) => !out.has(taskKey)),
    heldOut: examples.filter(({ taskKey }) => out.has(taskKey)),
  };
}

/** Returns a number in [0, 1) for a task, which is the same on every machine. */
function placeOf(taskKey: string): number {
  return createHash('sha256').update(taskKey).digest().readUIntBE(0, 6) / 2 ** 48;
}
