/**
 * Whether a server trains the gradient that it is asked for. On a model that is thrown away, a few requests compare the
 * norms of gradients that must be equal, many times another, or nothing: first with the coefficients as weights of a cross
 * entropy, then, for servers that average, as advantages of importance sampling at ratio 1 with both averages taken out. A
 * small step then shows the sign. Nothing of it reads a loss, which servers report as they like.
 */

import { BackboneError } from '@agentjet/core';
import { encodeRows, type CoefficientRow } from './encode-rows.js';
import { createProbeRows, scaled, type ProbeRows } from './probe-rows.js';
import { probeAdam, type RemoteModel } from './remote-model.js';
import type { Encoding, RowData } from './row-data.js';
import { findSign, type Moved } from './sign-check.js';

export type Seam = {
  readonly encoding: Encoding;
  /** False: the server tells no norm, so at most the sign could be checked. */
  readonly isChecked: boolean;
  /** The server computes a request again that is sent again with its sequence number, or refuses it; null: not known. */
  readonly ignoresNumbers: boolean | null;
  /** What the step that shows the sign has moved; null: none was made. */
  readonly moved: Moved | null;
};

export type SeamCheckOptions = {
  readonly vocabSize: number;
  /** Refuse a server that reports no gradient norm. */
  readonly needsNorm: boolean;
  /** As the user named it. */
  readonly profile: string;
  /** Of the steps that show the sign, rising until one moves the logprobs; none if the model is not thrown away. */
  readonly rates: readonly number[];
};

/** Rows that follow a request that is sent twice: with three, a mean that counts it twice is larger by three fifths. */
const numWithout = 3;

/** Norms that must be equal may differ by this share: servers compute in half precision. */
const tolerance = 0.01;
/** And gradients that must cancel leave less than this share of one. */
const remainder = 0.05;
/** Above every limit that a loss may put on a coefficient. */
const large = 64;

type Property = keyof typeof causes;

const causes = {
  trained: 'a row has no gradient',
  repeatable: 'the same request twice gives two gradients, as with dropout in the adapter: turn it off',
  linear: `${large} times the coefficients do not give ${large} times the gradient, as with a clipped or renormalised loss`,
  odd: 'coefficients of the other sign do not give the opposite gradient, as with absolute values or weights that are divided by their sum',
  'unchanged by zeros': 'tokens of coefficient 0 change the gradient, as with a mean over the tokens of a row',
  'token by token':
    'the coefficient of a token is not trained at that token, as with the first of a row for all, or one place off',
  additive: 'two rows do not give the sum of their gradients, as with a mean over rows',
  'of the right sign':
    'a small step does not make tokens of positive coefficients likelier, as with a loss of the other sign',
} as const;

type Failure = { readonly property: Property; readonly found: string };

type Probe = { readonly model: RemoteModel; readonly encoding: Encoding; readonly rows: ProbeRows };

/** Throws BackboneError `wrong_gradient` naming the property that fails, or `bad_request` if a norm is needed and not told. */
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
    `The server does not train the loss that it is asked for. With coefficients ${failures.join('; ')}.`,
  );
}

function refuseIfNeeded({ needsNorm, profile }: SeamCheckOptions): void {
  if (!needsNorm) return;
  throw new BackboneError(
    'bad_request',
    `The server reports no gradient norm, so what it trains cannot be checked, and tinker.profile "${profile}" needs one. Set tinker.profile to auto to train unchecked.`,
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
 * The first property that fails, or whether the server ignores sequence numbers; null: it tells no norm. Rows of negative coefficients
 * come only after the linear one: a server that divides by their sum would blow them up.
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
  // The last leaves no gradient, and so no moments of Adam to a server that keeps one optimizer for all models.
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

/** Of a row and the same of the other sign with zeros at its end, which must cancel. */
async function findRest(probe: Probe, found: Norm, whole: number): Promise<Failure | undefined> {
  if (isRest(found, whole)) return undefined;
  const { short } = probe.rows;
  const [opposite] = await normsOf(probe, [[short, scaled(short, -1)]]);
  const property = isRest(opposite, whole) ? 'unchanged by zeros' : 'odd';
  return { property, found: `norm ${found} instead of 0` };
}

/**
 * Whether the gradient of a request that is sent twice is larger than if it had counted once, whose norm is `once`. If the server averages,
 * rows without a gradient follow it: a mean over the request alone would be the same, counted twice or not.
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

/** The logprobs are those of a request of the same shape, because some servers round otherwise in another. */
async function encode({ model, encoding }: Probe, rows: readonly CoefficientRow[]): Promise<RowData[]> {
  const logprobs = encoding === 'averages' ? await model.forward(rows.map(({ ids }) => ids)) : undefined;
  return encodeRows(rows, encoding, logprobs);
}
