import type { WrapModel } from '@agentjet/rollout';

/**
 * Joins wrappers to one: the first is closest to the model, the last is closest to the agent. Undefined if there are
 * none.
 */
export function wrapModels(wrappers: readonly (WrapModel | undefined)[]): WrapModel | undefined {
  const given = wrappers.filter((wrapper) => wrapper !== undefined);
  if (given.length === 0) return undefined;
  return (episode) => {
    const wraps = given.map((wrapper) => wrapper(episode));
    return (model, agent) => wraps.reduce((wrapped, wrap) => wrap(wrapped, agent), model);
  };
}
