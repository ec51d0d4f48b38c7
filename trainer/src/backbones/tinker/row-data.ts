/**
 * Rows as the Tinker API takes them: position i of the input predicts target i, so a row of T tokens has T - 1 of each.
 */

import { BackboneError, isJsonObject, type JsonObject, type TreePack } from '@agentjet/core';

/** The fields of one row in addition to its tokens. Each has shape [T - 1]. */
export type RowInputs = Readonly<Record<string, ArrayLike<number>>>;

export type RowData = { readonly ids: Int32Array; readonly inputs: RowInputs };

/**
 * How our coefficients are sent: as a cross entropy if the server adds up the tokens, and otherwise as importance
 * sampling.
 */
export type Encoding = 'sums' | 'averages';

/** The maximum number of rows and targets of one request, because servers refuse bodies of more than about 5 MB. */
const mostRows = 1024;
const mostTargets = 65_536;

/** Throws BackboneError `bad_batch` unless each pack is one row, and at least one token is supervised. */
export function checkRows(packs: readonly TreePack[]): void {
  if (packs.every(({ terms }) => terms.pair.length === 0))
    throw new BackboneError('bad_batch', `The batch of ${packs.length} packs supervises no token.`);
  const at = packs.findIndex((pack) => !isOneRow(pack));
  if (at >= 0)
    throw new BackboneError(
      'bad_batch',
      `Pack ${at} has more than one row, but the tinker backbone takes rows. Pack with packRows or packFor.`,
    );
}

function isOneRow({ ids, positions, ends, predictors, targets, terms }: TreePack): boolean {
  return (
    ids.every((_, index) => positions[index] === index && ends[index] === ids.length) &&
    predictors.every((predictor, pair) => ids[predictor + 1] === targets[pair]) &&
    terms.pair.every((pair) => pair >= 0 && pair < predictors.length)
  );
}

/** Adds up the coefficients of a row's terms for each of its targets: shape [T - 1]. */
export function toTargets({ ids, predictors, terms }: TreePack, ofTerms: ArrayLike<number>): Float64Array {
  const targets = new Float64Array(Math.max(ids.length - 1, 0));
  for (const [term, pair] of terms.pair.entries()) {
    const at = predictors[pair] ?? 0;
    targets[at] = (targets[at] ?? 0) + (ofTerms[term] ?? 0);
  }
  return targets;
}

/** Picks the logprob of each term's token from the logprobs of the row's targets. */
export function toTerms({ predictors, terms }: TreePack, ofTargets: ArrayLike<number>): Float64Array {
  return Float64Array.from(terms.pair, (pair) => ofTargets[predictors[pair] ?? 0] ?? Number.NaN);
}

export function toDatum({ ids, inputs }: RowData): JsonObject {
  return {
    model_input: toModelInput(ids.subarray(0, -1)),
    loss_fn_inputs: {
      target_tokens: toTensor(ids.subarray(1), 'int64'),
      ...Object.fromEntries(Object.entries(inputs).map(([name, values]) => [name, toTensor(values, 'float32')])),
    },
  };
}

export function toModelInput(ids: Int32Array): JsonObject {
  return { chunks: [{ type: 'encoded_text', tokens: [...ids] }] };
}

function toTensor(values: ArrayLike<number>, dtype: 'int64' | 'float32'): JsonObject {
  return { data: Array.from(values), dtype, shape: [values.length] };
}

/** Divides the rows of one step into requests, in order. */
export function cutIntoRequests(rows: readonly RowData[]): RowData[][] {
  const requests: RowData[][] = [];
  let targets = 0;
  for (const row of rows) {
    const last = requests.at(-1);
    targets += row.ids.length;
    if (last !== undefined && last.length < mostRows && targets <= mostTargets) last.push(row);
    else {
      requests.push([row]);
      targets = row.ids.length;
    }
  }
  return requests;
}

/**
 * Reads the logprobs of an answer, shape [T - 1] for each row. A value that is not a number becomes NaN. Throws
 * BackboneError `protocol`.
 */
export function readLogprobs(answer: JsonObject, rows: readonly RowData[]): Float64Array[] {
  const outputs = answer['loss_fn_outputs'];
  if (!Array.isArray(outputs) || outputs.length !== rows.length)
    throw protocolError(
      `its "loss_fn_outputs" are ${Array.isArray(outputs) ? outputs.length : typeof outputs}, for ${rows.length} rows`,
    );
  return rows.map(({ ids }, index) => {
    const output: unknown = outputs[index];
    const tensor = isJsonObject(output) ? output['logprobs'] : undefined;
    const data: unknown = isJsonObject(tensor) ? tensor['data'] : tensor;
    if (!Array.isArray(data) || data.length !== ids.length - 1)
      throw protocolError(
        `row ${index} of ${ids.length} tokens has ${Array.isArray(data) ? data.length : 'no'} logprobs instead of ${ids.length - 1}`,
      );
    return Float64Array.from(data, (value: unknown) => (typeof value === 'number' ? value : Number.NaN));
  });
}

export function protocolError(problem: string): BackboneError {
  return new BackboneError(
    'protocol',
    `The server's answer cannot be used: ${problem}. Check that the server implements the Tinker API, and that tinker.wire is right.`,
  );
}
