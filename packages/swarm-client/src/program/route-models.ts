import type { ChatModel } from '@agentjet/core';
import type { WrapModel } from '@agentjet/rollout';

/** Selects calls of a program that are not trained, by the name of the requested model. `*` matches any characters. */
export type ModelRoute = {
  readonly pattern: string;
  /** The model that answers these calls. Undefined means the model that learns, whose answer is then not trained. */
  readonly model?: ChatModel;
};

/**
 * Applies the routes to the models of an episode. The first matching route is used. A call that matches no route is
 * trained.
 */
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
