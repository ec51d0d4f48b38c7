/** Rules for sums over axes and for broadcasting, each of which is the gradient of the other. */

import { reshape } from './reshape.js';
import { isSameShape, toAxis } from './value.js';
import type { Shape, Value } from './value.js';

/** Sums over the axes, which remain with size 1. */
export function sum(value: Value, axes: readonly number[]): Value {
  const { graph } = value;
  const counted = axes.map((axis) => toAxis(axis, value.shape));
  const shape = value.shape.map((dim, axis) => (counted.includes(axis) ? 1 : dim));
  const output = graph.node('ReduceSum', [value, graph.integers(counted)], { shape }, { attributes: { keepdims: 1 } });
  return graph.differentiable(output, [{ of: value, gradient: (gradient) => expand(gradient, value.shape) }]);
}

/** Sums over all axes and returns a scalar. */
export function sumAll(value: Value): Value {
  const { graph } = value;
  const output = graph.node('ReduceSum', [value], { shape: [] }, { attributes: { keepdims: 0 } });
  return graph.differentiable(output, [{ of: value, gradient: (gradient) => expand(gradient, value.shape) }]);
}

/** Undoes broadcasting: sums over the axes that `shape` does not have, or has with size 1. */
export function sumToShape(value: Value, shape: Shape): Value {
  if (isSameShape(value.shape, shape)) return value;
  const added = value.shape.length - shape.length;
  const axes = value.shape.flatMap((dim, axis) =>
    axis < added || (shape[axis - added] === 1 && dim !== 1) ? [axis] : [],
  );
  const summed = axes.length === 0 ? value : sum(value, axes);
  return reshape(summed, shape);
}

export function expand(value: Value, shape: Shape): Value {
  const { graph } = value;
  const output = graph.node('Expand', [value, graph.shape(shape)], { shape, type: value.type });
  return graph.differentiable(output, [{ of: value, gradient: (gradient) => sumToShape(gradient, value.shape) }]);
}
