import { BackboneError } from '@agentjet/core';
import { encodeRows, type CoefficientRow } from './encode-rows.js';
import type { RemoteModel } from './remote-model.js';
import type { Encoding } from './row-data.js';

/** How far a step has moved the logprobs of a row along its coefficients, on average per token. */
export type Moved = {
  readonly by: number;
  readonly row: CoefficientRow;
  /** The logprobs of its targets before the first step. */
  readonly before: Float64Array;
};

/** The smallest move of the logprobs that counts. It is larger than the rounding errors of half precision. */
const visible = 0.02;

/**
 * Makes steps with rising learning rates until the logprobs move, and returns whether they moved in the right
 * direction. Adam has no moments of earlier steps here, so each weight moves by the learning rate, for any scale of the
 * coefficients.
 */
export async function findSign({
  model,
  encoding,
  row,
  rates,
}: {
  readonly model: RemoteModel;
  readonly encoding: Encoding;
  readonly row: CoefficientRow;
  readonly rates: readonly number[];
}): Promise<Moved> {
  const [before = new Float64Array()] = await model.forward([row.ids]);
  let by = 0;
  let logprobs = before;
  for (const rate of rates) {
    const data = encodeRows([row], encoding, [logprobs]);
    const [after] = await model.tryStep(data, encoding, rate);
    if (after === undefined) throw new BackboneError('protocol', 'The server gave no logprobs.');
    logprobs = after;
    by = movedAlong(row, before, after);
    if (Math.abs(by) >= visible) break;
  }
  return { by: Math.abs(by) >= visible ? by : 0, row, before };
}

/** Returns whether a model that is created afterwards has the changes of these steps. */
export async function isMovedToo({ by, row, before }: Moved, model: RemoteModel): Promise<boolean> {
  const [now = before] = await model.forward([row.ids]);
  return movedAlong(row, before, now) > by / 2;
}

function movedAlong({ coefficients }: CoefficientRow, from: Float64Array, to: Float64Array): number {
  const total = coefficients.reduce((sum, value) => sum + Math.abs(value), 0);
  return coefficients.reduce((sum, value, at) => sum + value * ((to[at] ?? NaN) - (from[at] ?? NaN)), 0) / total;
}
