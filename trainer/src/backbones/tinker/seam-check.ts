/**
 * Checks whether a server trains the requested gradient. On a model that is discarded afterwards, it compares the norms
 * of gradients that must be equal, multiples of each other, or zero. The first attempt sends the coefficients as
 * weights of a cross entropy. For servers that average, the second attempt sends the coefficients as advantages of
 * importance sampling at ratio 1, multiplied so that both averages cancel. A small step then shows the sign of the
 * gradient. The check ignores losses, because each server reports a different one.
 */

import { BackboneError } from '@agentjet/core';
import { encodeRows, type CoefficientRow } from './encode-rows.js';
import { createProbeRows, scaled, type ProbeRows } from './probe-rows.js';
import { probeAdam, type RemoteModel } from './remote-model.js';
import type { Encoding, RowData } from './row-data.js';
import { findSign, type Moved } from './sign-check.js';

export type Seam = {
  readonly encoding: Encoding;
  /** False if the server reports no norm, so at most the sign was checked. */
  readonly isChecked: boolean;
  /**
   * True if the server computes a repeated request again, or refuses it, although its sequence number is the same; null
   * if that is not known.
   */
  readonly ignoresNumbers: boolean | null;
  /** The change that the step for the sign made. Null if no step was made. */
  readonly moved: Moved | null;
};

export type SeamCheckOptions = {
  readonly vocabSize: number;
  /** Whether a server that reports no gradient norm is refused. */
  readonly needsNorm: boolean;
  /** The profile's name in the configuration. */
  readonly profile: string;
  /**
   * The learning rates of the steps that show the sign, in rising order. The first one that moves the logprobs is
   * enough. The list is empty if the model is not discarded.
   */
  readonly rates: readonly number[];
};

/**
 * The number of rows that follow a repeated request. With three, a mean that counts the request twice is larger by
 * three fifths.
 */
const numWithout = 3;

/** Norms that must be equal may differ by this share, because servers compute in half precision. */
const tolerance = 0.01;
/** If two gradients must cancel, the norm of their sum is less than this share of the norm of one. */
const remainder = 0.05;
/** The factor for the check of linearity. It exceeds every limit that a loss may set for a coefficient. */
const large = 64;

type Property = keyof typeof causes;

const causes = {
  trained: 'a row has no gradient',
  repeatable: 'the same request gives another gradient the second time, as with dropout in the adapter (turn it off)',
  linear: `${large} times the coefficients do not give ${large} times the gradient, as with a clipped or renormalised loss`,
  odd: 'coefficients of the opposite sign do not give the opposite gradient, as with absolute values or weights that are divided by their sum',
  'unchanged by zeros': 'tokens of coefficient 0 change the gradient, as with a mean over the tokens of a row',
  'token by token':
    'the coefficient of a token is trained at another token, as with the first coefficient of a row for all tokens, or coefficients shifted by one token',
  additive: 'two rows do not give the sum of their gradients, as with a mean over rows',
  'of the right sign':
    'a small step does not make tokens with positive coefficients likelier, as with a loss of the opposite sign',
} as const;

type Failure = { readonly property: Property; readonly found: string };

type Probe = { readonly model: RemoteModel; readonly encoding: Encoding; readonly rows: ProbeRows };

/**
 * Throws BackboneError `wrong_gradient` with the property that fails, or `bad_request` if a norm is needed but not
 * reported.
 */
export async function checkSeam(model: RemoteModel, options: SeamCheckOptions): Promise<Seam> {
  const rows = createProbeRows(options.vocabSize);
  const failures: string[] = [];
  for (const encoding of ['sums', 'averages'] as const) {
    const found = await compareNorms({ model, encoding, rows });
    if ('ignoresNumbers' in found) {
      if (found.ignoresNumbers === null) refuseIfNeeded(options);
      const moved = await findMoved({ model, encoding, rows }, options.rates);
      return { encoding, isChecked: found.ignoresNumbers !== null, ignoresNumbers: found.ignoresNumbers, moved };
    }
    failures.push(describe(encoding, found));
  }
  throw wrongGradient(failures);
}

const describe = (encoding: Encoding, { property, found }: Failure): string =>
  `${encoding === 'sums' ? 'as weights of a cross entropy' : 'as advantages of importance sampling'}, it is not ${property} (${found}): ${causes[property]}`;

function wrongGradient(failures: readonly string[]): BackboneError {
  return new BackboneError(
    'wrong_gradient',
    `The server does not train the requested loss. With coefficients ${failures.join('; ')}.`,
  );
}

function refuseIfNeeded({ needsNorm, profile }: SeamCheckOptions): void {
  if (!needsNorm) return;
  throw new BackboneError(
    'bad_request',
    `The server reports no gradient norm, so its gradient cannot be checked, and tinker.profile "${profile}" requires the check. Set tinker.profile to auto to train without it.`,
  );
}

async function findMoved({ model, encoding, rows }: Probe, rates: readonly number[]): Promise<Moved | null> {
  if (rates.length === 0) return null;
  const moved = await findSign({ model, encoding, row: rows.short, rates });
  if (moved.by > 0) return moved;
  const found = moved.by === 0 ? 'their logprobs stay' : `their logprobs fall by ${-moved.by}`;
  throw wrongGradient([describe(encoding, { property: 'of the right sign', found })]);
}

/**
 * Returns the first property that fails. If none fails, returns whether the server ignores sequence numbers. Returns
 * null if the server reports no norm. Rows with negative coefficients come after the check of linearity, because a
 * server that divides by the sum of coefficients would return a huge gradient.
 */
async function compareNorms(probe: Probe): Promise<Failure | Pick<Seam, 'ignoresNumbers'>> {
  const { short, long, last, other } = probe.rows;
  const [first, again, manifold] = await normsOf(probe, [[short], [short], [scaled(short, large)]]);
  if (first === null || first === undefined) return { ignoresNumbers: null };
  const early =
    (first > 0 ? undefined : differs('trained', first, 1)) ??
    differs('repeatable', again, first) ??
    differs('linear', manifold, large * first);
  if (early !== undefined) return early;
  const ignoresNumbers = await countsTwice(probe, first);
  // The gradient of the last request is zero. If a server keeps one optimizer for all models, the moments of Adam are
  // therefore zero afterwards.
  const [both, ends, opposite] = await normsOf(probe, [
    [short, long],
    [last, scaled(other, -1)],
    [short, scaled(long, -1)],
  ]);
  const late =
    (await findRest(probe, opposite, first)) ??
    (isRest(ends, first)
      ? { property: 'token by token' as const, found: `norm ${ends} instead of more` }
      : undefined) ??
    differs('additive', both, 2 * first);
  return late ?? { ignoresNumbers };
}

type Norm = number | null | undefined;

function differs(property: Property, found: Norm, expected: number): Failure | undefined {
  if (typeof found === 'number' && Math.abs(found - expected) <= tolerance * expected) return undefined;
  return { property, found: `norm ${found} instead of ${expected}` };
}

const isRest = (found: Norm, whole: number): boolean => typeof found === 'number' && found <= remainder * whole;

/**
 * Returns the norm of the gradient of a row and of its negative with zeros at the end. The two gradients must cancel.
 */
async function findRest(probe: Probe, found: Norm, whole: number): Promise<Failure | undefined> {
  if (isRest(found, whole)) return undefined;
  const { short } = probe.rows;
  const [opposite] = await normsOf(probe, [[short, scaled(short, -1)]]);
  const property = isRest(opposite, whole) ? 'unchanged by zeros' : 'odd';
  return { property, found: `norm ${found} instead of 0` };
}

/**
 * Returns whether a request that is sent twice gives a larger gradient than the norm `once` of a request that counts
 * once. If the server averages, rows without a gradient follow the request. Without such rows, the mean would not show
 * whether the request counts twice.
 */
async function countsTwice(probe: Probe, once: number): Promise<boolean> {
  const { model, encoding } = probe;
  const { short } = probe.rows;
  const averages = encoding === 'averages';
  const data = await encode(probe, [short]);
  const without = averages
    ? await encode(
        probe,
        Array.from({ length: numWithout }, () => scaled(short, 0)),
      )
    : [];
  const isRefused = await model.forwardBackwardTwice(data, encoding).then(() => false, isRefusal);
  if (averages && !isRefused) await model.forwardBackward(without, encoding);
  const found = await model.optimStep(probeAdam);
  const normOfCount = (count: number) => (averages ? (once * count) / (count + numWithout) : once * count);
  return isRefused || found === null || found > (normOfCount(1) + normOfCount(2)) / 2;
}

function isRefusal(error: unknown): true {
  if (error instanceof BackboneError && error.code === 'refused') return true;
  throw error;
}

async function normsOf(probe: Probe, requests: readonly (readonly CoefficientRow[])[]): Promise<Norm[]> {
  const encoded: RowData[][] = [];
  for (const rows of requests) encoded.push(await encode(probe, rows));
  return await probe.model.normsOf(encoded, probe.encoding);
}

/**
 * Both sets of logprobs come from requests of the same shape, because some servers round differently for another shape.
 */
async function encode({ model, encoding }: Probe, rows: readonly CoefficientRow[]): Promise<RowData[]> {
  const logprobs = encoding === 'averages' ? await model.forward(rows.map(({ ids }) => ids)) : undefined;
  return encodeRows(rows, encoding, logprobs);
}
