/** Softmax over the last axis. */

import { multiply, subtract } from './elementwise.js';
import { sum } from './reduce.js';
import type { Value } from './value.js';

export function softmax(value: Value): Value {
  const { graph } = value;
  const output = graph.node('Softmax', [value], value, { attributes: { axis: -1 } });
  const gradientOf = (gradient: Value): Value => {
    const weighted = multiply(gradient, output);
    return subtract(weighted, multiply(output, sum(weighted, [-1])));
  };
  return graph.differentiable(output, [{ of: value, gradient: gradientOf }]);
}
