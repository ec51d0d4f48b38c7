/**
 * Whether a server trains the gradient that it is asked for. On a model that is thrown away, a few requests compare the
 * norms of gradients that must be equal, or one twice the other: first with the coefficients as weights of a cross
 * entropy, then, for servers that average, as advantages of importance sampling at ratio 1 with both averages taken out.
 */

import { BackboneError } from '@agentjet/core';
import { idleOptimizer } from '../idle-optimizer.js';
import { encodeRows, type CoefficientRow } from './encode-rows.js';
import type { RemoteModel } from './remote-model.js';
import type { Encoding } from './row-data.js';

export type Seam = {
  readonly encoding: Encoding;
  /** False: the server tells no norm, so nothing could be checked. */
  readonly isChecked: boolean;
  /** The server computes a request again that is sent again with its sequence number, or refuses it; null: not known. */
  readonly ignoresNumbers: boolean | null;
};

export type SeamCheckOptions = {
  readonly vocabSize: number;
  /** Refuse a server that reports no gradient norm. */
  readonly needsNorm: boolean;
};

/** Rows that follow a request that is sent twice: with three, a mean that counts it twice is larger by three fifths. */
const numWithout = 3;

/** Norms that must be equal may differ by this share: servers compute in half precision. */
const tolerance = 0.01;

type Property = 'repeatable' | 'linear' | 'odd' | 'unchanged by zeros' | 'additive';

const causes: Readonly<Record<Property, string>> = {
  repeatable: 'the same request twice gives two gradients, as with dropout in the adapter: turn it off',
  linear: 'twice the coefficients do not give twice the gradient, as with a clipped or renormalised loss',
  odd: 'coefficients of the other sign do not give the opposite gradient, as with weights that are divided by their sum',
  'unchanged by zeros': 'tokens of coefficient 0 change the gradient, as with a mean over the tokens of a row',
  additive: 'two rows do not give the sum of their gradients, as with a mean over rows',
};

/** Throws BackboneError `wrong_gradient` naming the property that fails, or `bad_request` if a norm is needed and not told. */
export async function checkSeam(model: RemoteModel, options: SeamCheckOptions): Promise<Seam> {
  const failures: string[] = [];
  for (const encoding of ['sums', 'averages'] as const) {
    const found = await compareNorms(model, encoding, options.vocabSize);
    if (found === 'no norm') return acceptUnchecked(options);
    if (typeof found === 'number')
      return {
        encoding,
        isChecked: true,
        ignoresNumbers: await countsTwice(model, encoding, { once: found, vocabSize: options.vocabSize }),
      };
    const how = encoding === 'sums' ? 'as weights of a cross entropy' : 'as advantages of importance sampling';
    failures.push(`${how}, it is not ${found.property} (${found.found}): ${causes[found.property]}`);
  }
  throw new BackboneError(
    'wrong_gradient',
    `The server does not train the loss that it is asked for. With coefficients ${failures.join('; ')}.`,
  );
}

function acceptUnchecked({ needsNorm }: SeamCheckOptions): Seam {
  if (!needsNorm) return { encoding: 'sums', isChecked: false, ignoresNumbers: null };
  throw new BackboneError(
    'bad_request',
    'The server reports no gradient norm, so what it trains cannot be checked. Set tinker.profile to another than strict to train unchecked.',
  );
}

type Failure = { readonly property: Property; readonly found: string };

/** The norm of one request's gradient if all properties hold, or the first that fails. */
async function compareNorms(
  model: RemoteModel,
  encoding: Encoding,
  vocabSize: number,
): Promise<number | Failure | 'no norm'> {
  const [short, long] = probeRows(vocabSize);
  const first = await normOf(model, encoding, [short]);
  if (first === null) return 'no norm';
  const expected: readonly (readonly [Property, number, readonly CoefficientRow[]])[] = [
    ['repeatable', 1, [short]],
    ['linear', 2, [scaled(short, 2)]],
    ['odd', 1, [scaled(short, -1)]],
    ['unchanged by zeros', 1, [long]],
    ['additive', 2, [short, long]],
  ];
  for (const [property, factor, rows] of expected) {
    const found = await normOf(model, encoding, rows);
    if (found === null || !(Math.abs(found - factor * first) <= tolerance * factor * first))
      return { property, found: `norm ${found} instead of ${factor * first}` };
  }
  return first;
}

/**
 * Whether the gradient of a request that is sent twice is larger than if it had counted once, whose norm is `once`. If the server averages,
 * rows without a gradient follow it: a mean over the request alone would be the same, counted twice or not.
 */
async function countsTwice(
  model: RemoteModel,
  encoding: Encoding,
  { once, vocabSize }: { readonly once: number; readonly vocabSize: number },
): Promise<boolean> {
  const [row] = probeRows(vocabSize);
  const averages = encoding === 'averages';
  const encode = async (rows: readonly CoefficientRow[]) =>
    encodeRows(rows, encoding, averages ? await model.forward(rows.map(({ ids }) => ids)) : undefined);
  const data = await encode([row]);
  const without = averages ? await encode(Array.from({ length: numWithout }, () => scaled(row, 0))) : [];
  try {
    await model.forwardBackwardTwice(data, encoding);
  } catch (error) {
    if (error instanceof BackboneError && error.code === 'refused') return true;
    throw error;
  }
  if (averages) await model.forwardBackward(without, encoding);
  const found = await model.optimStep(idleOptimizer);
  const normOfCount = (count: number) => (averages ? (once * count) / (count + numWithout) : once * count);
  return found === null || found > (normOfCount(1) + normOfCount(2)) / 2;
}

async function normOf(model: RemoteModel, encoding: Encoding, rows: readonly CoefficientRow[]): Promise<number | null> {
  const logprobs = encoding === 'averages' ? await model.forward(rows.map(({ ids }) => ids)) : undefined;
  await model.forwardBackward(encodeRows(rows, encoding, logprobs), encoding);
  return await model.optimStep(idleOptimizer);
}

/** Two rows of different lengths whose gradients are equal: the second goes on where the first ends, with zeros. */
function probeRows(vocabSize: number): readonly [CoefficientRow, CoefficientRow] {
  const ids = Int32Array.from({ length: 13 }, (_, index) => (index * 7 + (index % 3)) % vocabSize);
  const coefficients = Float64Array.of(0.5, 0.25, 1, 0.75, 0.5, 1, 0.25, 0.5);
  const padded = new Float64Array(ids.length - 1);
  padded.set(coefficients);
  return [
    { ids: ids.slice(0, coefficients.length + 1), coefficients },
    { ids, coefficients: padded },
  ];
}

function scaled({ ids, coefficients }: CoefficientRow, factor: number): CoefficientRow {
  return { ids, coefficients: coefficients.map((value) => value * factor) };
}
