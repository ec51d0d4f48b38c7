/** Values of a graph: symbolic tensors with a shape, an element type and a producer. */

import type { Graph } from './graph.js';

/**
 * A number if the size is known when the graph is built. Otherwise the name of a size that is set when the graph runs.
 */
export type Dim = number | string;
export type Shape = readonly Dim[];

export type ElementType = 'float32' | 'float64' | 'float16' | 'uint8' | 'int32' | 'int64' | 'bool' | 'sequence';

/** A tensor of the graph. Values are compared by identity, not by their fields. */
export type Value = {
  readonly graph: Graph;
  readonly shape: Shape;
  readonly type: ElementType;
};

/** An operand of elementwise rules. A number becomes a scalar constant of the graph's float type. */
export type Operand = Value | number;

export function isSameShape(left: Shape, right: Shape): boolean {
  return left.length === right.length && left.every((dim, axis) => dim === right[axis]);
}

/** Returns the axis counted from the front. */
export function toAxis(axis: number, shape: Shape): number {
  return axis < 0 ? axis + shape.length : axis;
}

export function dimAt(shape: Shape, axis: number): Dim {
  const dim = shape[toAxis(axis, shape)];
  if (dim === undefined) throw new Error(`Axis ${axis} is outside shape [${shape.join(', ')}].`);
  return dim;
}

/** Returns the size along an axis, which must be known when the graph is built. */
export function sizeAt(shape: Shape, axis: number): number {
  const dim = dimAt(shape, axis);
  if (typeof dim === 'string')
    throw new Error(`Axis ${axis} of shape [${shape.join(', ')}] is symbolic, but a number is needed.`);
  return dim;
}

export function withDim(shape: Shape, axis: number, dim: Dim): Dim[] {
  const at = toAxis(axis, shape);
  return shape.map((old, index) => (index === at ? dim : old));
}

/** Applies numpy's broadcasting. A symbolic size equals only itself, and broadcasts with 1. */
export function broadcastShapes(left: Shape, right: Shape): Dim[] {
  const rank = Math.max(left.length, right.length);
  return Array.from({ length: rank }, (_, axis) => {
    const a = left[left.length - rank + axis] ?? 1;
    const b = right[right.length - rank + axis] ?? 1;
    if (a === b || b === 1) return a;
    if (a === 1) return b;
    throw new Error(`Shapes [${left.join(', ')}] and [${right.join(', ')}] do not broadcast.`);
  });
}
