/**
 * Rotary position embedding (Su et al. 2021) in the half-split form of Llama and Qwen2: element i of a head is rotated
 * with element i + headDim / 2.
 */

import { add, multiply, negate, subtract } from '../graph/elementwise.js';
import { concat, reshape, split } from '../graph/reshape.js';
import { dimAt, sizeAt } from '../graph/value.js';
import type { Value } from '../graph/value.js';

/** cos and sin have shape [positions, headDim / 2]; positions is int64 [B, T]. */
export type Rotation = { readonly cos: Value; readonly sin: Value; readonly positions: Value };

/**
 * Rotates value [B, T, numHeads * headDim] or [B, numHeads, T, headDim]. A rotation is orthogonal, so its gradient is the
 * opposite rotation.
 */
export function rope(value: Value, rotation: Rotation, numHeads: number): Value {
  const { graph } = value;
  const output = graph.withoutGradient(() => rotate(value, rotation, numHeads));
  const gradientOf = (gradient: Value): Value =>
    rotate(gradient, { ...rotation, sin: oppositeSin(rotation.sin) }, numHeads);
  return graph.differentiable(output, [{ of: value, gradient: gradientOf }]);
}

function rotate(value: Value, rotation: Rotation, numHeads: number): Value {
  const { graph } = value;
  if (!graph.isFused) return rotateUnfused(value, rotation, numHeads);
  const attributes = { num_heads: numHeads, interleaved: 0 };
  const inputs = [value, rotation.positions, rotation.cos, rotation.sin];
  return graph.node('RotaryEmbedding', inputs, value, { attributes, isContrib: true });
}

function rotateUnfused(value: Value, { cos, sin, positions }: Rotation, numHeads: number): Value {
  const half = sizeAt(cos.shape, 1);
  const isHeadsFirst = value.shape.length === 4;
  const [batch, time] = [dimAt(positions.shape, 0), dimAt(positions.shape, 1)];
  const heads = isHeadsFirst ? value : reshape(value, [batch, time, numHeads, 2 * half]);
  const [low, high] = split(heads, [half, half], 3);
  if (low === undefined || high === undefined) throw new Error('A split into two has two parts.');
  const angleShape = isHeadsFirst ? [batch, 1, time, half] : [batch, time, 1, half];
  const [cosine, sine] = [cos, sin].map((table) => reshape(angles(table, positions), angleShape)) as [Value, Value];
  const rotatedLow = subtract(multiply(low, cosine), multiply(high, sine));
  const rotatedHigh = add(multiply(high, cosine), multiply(low, sine));
  return reshape(concat([rotatedLow, rotatedHigh], 3), value.shape);
}

/** Returns rows of a table at the positions, [B, T, headDim / 2]. */
function angles(table: Value, positions: Value): Value {
  const [batch, time] = [dimAt(positions.shape, 0), dimAt(positions.shape, 1)];
  const half = dimAt(table.shape, 1);
  const shape = [batch, time, half];
  return table.graph.node('Gather', [table, positions], { shape }, { attributes: { axis: 0 } });
}

const opposites = new WeakMap<Value, Value>();

/** Returns the negated table. All layers of a graph share it. */
function oppositeSin(sin: Value): Value {
  const opposite = opposites.get(sin) ?? negate(sin);
  opposites.set(sin, opposite);
  return opposite;
}
