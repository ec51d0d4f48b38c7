/**
 * Values that a gradient can compute again from other values that it needs anyway. They then take no memory between the
 * forward and the backward pass.
 */

import { shareResult } from './share-result.js';
import type { Value } from './value.js';

type Recipe = (gradient: Value) => Value;

const recipes = new WeakMap<Value, Recipe>();

/**
 * Says how to compute the value again, and returns it. The nodes must wait for the gradient (see `copyAfter`). ONNX
 * Runtime would otherwise compute them during the forward pass.
 */
export function recomputable(value: Value, compute: Recipe): Value {
  recipes.set(value, shareResult(compute));
  return value;
}

/** Returns the value, which is computed again after the gradient if there is a way. */
export function computedAgain(value: Value, gradient: Value): Value {
  return recipes.get(value)?.(gradient) ?? value;
}
