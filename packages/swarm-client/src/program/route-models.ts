import type { ChatModel } from '@agentjet/core';
import type { WrapModel } from '@agentjet/rollout';

/** Which calls of a program are not to be trained, by the name of the model that it asks for. `*` matches anything. */
export type ModelRoute = {
  readonly pattern: string;
  /** Who answers instead; undefined: the model that learns, and its answer is not trained. */
  readonly model?: ChatModel;
};

/** Puts the routes around the models of an episode. The first one that matches holds; what none matches is trained. */
export function routeModels(routes: readonly ModelRoute[]): WrapModel {
  const found = routes.map(({ pattern, model }) => ({ expression: toExpression(pattern), model }));
  const routeOf = (name: string | undefined) =>
    name === undefined ? undefined : found.find(({ expression }) => expression.test(name));
  return () => (tuned) => ({
    ...tuned,
    generate: (request, options) => {
      const route = routeOf(request.model);
      if (route === undefined) return tuned.generate(request, options);
      if (route.model !== undefined) return route.model.generate(request, options);
      return tuned.generate({ ...request, isTrained: false }, options);
    },
  });
}

const toExpression = (pattern: string): RegExp => new RegExp(`^${pattern.split('*').map(escape).join('.*')}$`, 'i');

const escape = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
