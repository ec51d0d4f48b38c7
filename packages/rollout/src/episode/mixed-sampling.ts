import type { Sample } from '@agentjet/core';

/**
 * Whether an agent began the episodes of a group at different temperatures. Such episodes cannot be compared, so their
 * group is not trained.
 */
export function isSamplingMixed(episodes: readonly { readonly samples: readonly Sample[] }[]): boolean {
  const seen = new Map<string, number>();
  for (const { samples } of episodes) {
    for (const [agentName, temperature] of firstTemperatures(samples)) {
      if ((seen.get(agentName) ?? temperature) !== temperature) return true;
      seen.set(agentName, temperature);
    }
  }
  return false;
}

/**
 * Returns the temperature of each agent's first trained turn. Empty if the run's temperature applies to all of them.
 */
function firstTemperatures(samples: readonly Sample[]): ReadonlyMap<string, number> {
  const first = new Map<string, { readonly turn: number; readonly temperature: number }>();
  for (const { agentName, temperatures, turnIndices, lossMask } of samples) {
    const at = lossMask.indexOf(1);
    const temperature = temperatures?.[at];
    const turn = turnIndices?.[at] ?? 0;
    const known = first.get(agentName);
    if (temperature !== undefined && (known === undefined || turn < known.turn))
      first.set(agentName, { turn, temperature });
  }
  return new Map([...first].map(([agentName, { temperature }]) => [agentName, temperature]));
}
