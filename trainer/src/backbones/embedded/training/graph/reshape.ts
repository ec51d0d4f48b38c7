/** Rules that move elements without computing: reshape, transpose, concat, split. */

import { shareResult } from './share-result.js';
import { dimAt, isSameShape, sizeAt, toAxis, withDim } from './value.js';
import type { Dim, Shape, Value } from './value.js';

export function reshape(value: Value, shape: Shape): Value {
  if (isSameShape(value.shape, shape)) return value;
  const { graph } = value;
  const output = graph.node('Reshape', [value, reshapeTarget(value, shape)], { shape, type: value.type });
  return graph.differentiable(output, [{ of: value, gradient: (gradient) => reshape(gradient, value.shape) }]);
}

/** Axis i of the output is axis `permutation[i]` of the value. */
export function transpose(value: Value, permutation: readonly number[]): Value {
  const { graph } = value;
  const shape = permutation.map((axis) => dimAt(value.shape, axis));
  const inverse = permutation.map((_, axis) => permutation.indexOf(axis));
  const output = graph.node('Transpose', [value], { shape, type: value.type }, { attributes: { perm: permutation } });
  return graph.differentiable(output, [{ of: value, gradient: (gradient) => transpose(gradient, inverse) }]);
}

/** Joins values along an axis. If sizes are symbolic, `joined` is their sum. */
export function concat(values: readonly [Value, ...Value[]], axis: number, joined?: Dim): Value {
  const [first] = values;
  const { graph } = first;
  const at = toAxis(axis, first.shape);
  const dims = values.map((value) => dimAt(value.shape, at));
  const shape = withDim(first.shape, at, joined ?? values.reduce((total, value) => total + sizeAt(value.shape, at), 0));
  const output = graph.node('Concat', values, { shape, type: first.type }, { attributes: { axis: at } });
  const parts = shareResult((gradient: Value) => splitByDims(gradient, dims, at));
  const pullbacks = values.map((value, index) => ({
    of: value,
    gradient: (gradient: Value) => pick(parts(gradient), index),
  }));
  return graph.differentiable(output, pullbacks);
}

/** Cuts a value along an axis of known size. */
export function split(value: Value, sizes: readonly number[], axis: number): readonly Value[] {
  const { graph } = value;
  const at = toAxis(axis, value.shape);
  const total = sizeAt(value.shape, at);
  let start = 0;
  return splitByDims(value, sizes, at).map((part, index) => {
    const [before, after] = [start, total - start - pick(sizes, index)];
    start += pick(sizes, index);
    return graph.differentiable(part, [{ of: value, gradient: (gradient) => pad(gradient, at, { before, after }) }]);
  });
}

/** Adds zeros around an axis of known size. It has no gradient. */
function pad(value: Value, axis: number, widths: { readonly before: number; readonly after: number }): Value {
  const rank = value.shape.length;
  const pads = Array.from({ length: 2 * rank }, (_, index) =>
    index === axis ? widths.before : index === rank + axis ? widths.after : 0,
  );
  const shape = withDim(value.shape, axis, sizeAt(value.shape, axis) + widths.before + widths.after);
  return value.graph.node('Pad', [value, value.graph.integers(pads)], { shape });
}

function splitByDims(value: Value, dims: readonly Dim[], axis: number): readonly Value[] {
  const { graph } = value;
  const outputs = dims.map((dim) => ({ shape: withDim(value.shape, axis, dim), type: value.type }));
  return graph.nodes('Split', [value, graph.shape(dims)], outputs, { attributes: { axis } });
}

/**
 * Writes 0 for a dimension that is unchanged, and -1 for one other dimension, which ONNX infers. If more dimensions
 * change, it computes the whole shape in the graph.
 */
function reshapeTarget(value: Value, shape: Shape): Value {
  const target = shape.map((dim, axis) => (typeof dim === 'number' ? dim : value.shape[axis] === dim ? 0 : -1));
  const isClear = target.filter((dim) => dim === -1).length <= 1;
  return isClear ? value.graph.integers(target) : value.graph.shape(shape);
}

function pick<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new Error(`Index ${index} is outside ${items.length} items.`);
  return item;
}
