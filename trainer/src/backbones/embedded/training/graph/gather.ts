/**
 * Reads rows and elements by index. If an index repeats, its gradients are added. ScatterND with `add` is not used,
 * because ONNX Runtime's CPU kernel loses updates of repeated indices on several threads. ScatterElements with `add` is
 * exact.
 */

import { concat, reshape } from './reshape.js';
import { expand } from './reduce.js';
import { withDim } from './value.js';
import type { Shape, Value } from './value.js';

/**
 * Reads rows of a table by an index [U]: output[i, ...] = table[index[i], ...]. Use it for narrow tables, because one
 * thread scatters the gradient.
 */
export function gather(table: Value, index: Value): Value {
  const output = gatherNode(table, index);
  const gradientOf = (gradient: Value): Value => {
    const wide = expandIndex(index, gradient.shape);
    return scatterAdd(zeros(table), wide, gradient, 0);
  };
  return table.graph.differentiable(output, [{ of: table, gradient: gradientOf }]);
}

/**
 * Reads rows of a table [N, ...] by an index [U] without repetition. `inverse` [N] has, for each row of the table, the
 * output row that reads it, or U if no output row does. The gradient is then a gather too.
 */
export function gatherUnique(table: Value, index: Value, inverse: Value): Value {
  const { graph } = table;
  const output = gatherNode(table, index);
  const gradientOf = (gradient: Value): Value => {
    const zeroRow = expand(graph.scalar(0), withDim(gradient.shape, 0, 1));
    return gatherNode(concat([gradient, zeroRow], 0, 'gathered_and_zero'), inverse);
  };
  return graph.differentiable(output, [{ of: table, gradient: gradientOf }]);
}

/** Returns base with updates added at the elements that index names along the axis. It has no gradient. */
export function scatterAdd(base: Value, index: Value, updates: Value, axis: number): Value {
  const { graph } = base;
  const attributes = { axis, reduction: { string: 'add' } };
  return graph.node('ScatterElements', [base, index, updates], base, { attributes });
}

function gatherNode(table: Value, index: Value): Value {
  const shape = [...index.shape, ...table.shape.slice(1)];
  return table.graph.node('Gather', [table, index], { shape, type: table.type }, { attributes: { axis: 0 } });
}

function zeros(like: Value): Value {
  return expand(like.graph.scalar(0), like.shape);
}

function expandIndex(index: Value, shape: Shape): Value {
  const column = reshape(index, [...index.shape, ...shape.slice(1).map(() => 1)]);
  return index.graph.node('Expand', [column, index.graph.shape(shape)], { shape, type: index.type });
}
