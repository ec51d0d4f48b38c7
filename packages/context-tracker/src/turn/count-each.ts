import type { Counts } from '../contract.js';

/** Returns how often each name occurs. */
export function countEach<Name extends string>(names: readonly Name[]): Counts<Name> {
  const counts: Partial<Record<Name, number>> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
