import { createHash } from 'node:crypto';
import type { Example } from './example.js';

export type SplitExamples = { readonly training: readonly Example[]; readonly heldOut: readonly Example[] };

/**
 * Holds out about `share` of the tasks, by a hash of the task: more transcripts later move no task from one side to the
 * other. If the hash would hold out none or all of several tasks, one task is moved.
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

/** A number in [0, 1), the same for a task on every machine. */
function placeOf(taskKey: string): number {
  return createHash('sha256').update(taskKey).digest().readUIntBE(0, 6) / 2 ** 48;
}
