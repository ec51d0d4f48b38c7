import type { WrapModel } from '@agentjet/rollout';

/**
 * Joins wrappers to one wrapper. The first is closest to the model, and the last is closest to the agent. Returns
 * undefined if there are none.
 */
export function wrapModels(wrappers: readonly (WrapModel | undefined)[]): WrapModel | undefined {
  const given = wrappers.filter((wrapper) => wrapper !== undefined);
  if (given.length === 0) return undefined;
  return (episode) => {
    const wraps = given.map((wrapper) => wrapper(episode));
    return (model, agent) => wraps.reduce((wrapped, wrap) => wrap(wrapped, agent), model);
  };
}
