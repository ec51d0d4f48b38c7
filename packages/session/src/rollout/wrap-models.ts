import type { WrapModel } from '@agentjet/rollout';

/** Several wrappers as one: the first is closest to the model, the last to the agent. Undefined if there are none. */
export function wrapModels(wrappers: readonly (WrapModel | undefined)[]): WrapModel | undefined {
  const given = wrappers.filter((wrapper) => wrapper !== undefined);
  if (given.length === 0) return undefined;
  return (episode) => {
    const wraps = given.map((wrapper) => wrapper(episode));
    return (model, agent) => wraps.reduce((wrapped, wrap) => wrap(wrapped, agent), model);
  };
}
