/** Checks a pack before a step, for values that would crash the step or make the weights invalid. */

import { BackboneError, outsideOfSet } from '@agentjet/core';
import type { KeptTokens, TreePack } from '@agentjet/core';

/** Throws BackboneError `bad_batch`, with the pack, the position and the value in its message. */
export function checkPack(pack: TreePack, index: number, vocabSize: number): void {
  const { ids, positions, ends, predictors, targets, terms } = pack;
  const [numTokens, numPairs] = [ids.length, predictors.length];
  requireLengths(index, 'tokens', { ids, positions, ends });
  requireLengths(index, 'pairs', { predictors, targets });
  requireLengths(index, 'terms', {
    pair: terms.pair,
    weights: terms.weights,
    advantages: terms.advantages,
    logprobs: terms.logprobs,
  });
  requireRange(index, 'ids', ids, { from: 0, below: vocabSize });
  requireRange(index, 'targets', targets, { from: 0, below: vocabSize });
  requireRange(index, 'positions', positions, { from: 0, below: numTokens });
  requireRange(index, 'predictors', predictors, { from: 0, below: numTokens });
  requireRange(index, 'terms.pair', terms.pair, { from: 0, below: numPairs });
  if (terms.kept !== undefined) checkKept(terms.kept, { index, vocabSize, numTerms: terms.pair.length });
  for (const [token, end] of ends.entries()) {
    if (end <= token || end > numTokens)
      throw badBatch(index, `ends[${token}] is ${end}, outside (${token}, ${numTokens}]`);
  }
  for (const name of ['weights', 'advantages', 'logprobs'] as const) {
    const at = terms[name].findIndex((value) => !Number.isFinite(value));
    if (at >= 0)
      throw badBatch(index, `terms.${name}[${at}] is ${terms[name][at]}. Check that rewards and logprobs are finite`);
  }
}

function checkKept(
  { set, starts, ids }: KeptTokens,
  { index, vocabSize, numTerms }: { readonly index: number; readonly vocabSize: number; readonly numTerms: number },
): void {
  if (set.length !== numTerms) throw badBatch(index, `terms.kept.set has ${set.length} entries for ${numTerms} terms`);
  requireRange(index, 'terms.kept.set', set, { from: outsideOfSet, below: Math.max(starts.length - 1, 0) });
  requireRange(index, 'terms.kept.starts', starts, { from: 0, below: ids.length + 1 });
  requireRange(index, 'terms.kept.ids', ids, { from: 0, below: vocabSize });
}

type Numbers = Int32Array | Float32Array;

function requireLengths(index: number, what: string, arrays: { readonly [name: string]: Numbers }): void {
  const lengths = Object.entries(arrays).map(([name, array]) => `${name} ${array.length}`);
  if (new Set(Object.values(arrays).map((array) => array.length)).size > 1) {
    throw badBatch(index, `its ${what} have different lengths (${lengths.join(', ')})`);
  }
}

function requireRange(
  index: number,
  name: string,
  values: Int32Array,
  { from, below }: { readonly from: number; readonly below: number },
): void {
  const at = values.findIndex((value) => value < from || value >= below);
  if (at >= 0) throw badBatch(index, `${name}[${at}] is ${values[at]}, outside [${from}, ${below})`);
}

function badBatch(index: number, problem: string): BackboneError {
  return new BackboneError('bad_batch', `Pack ${index} of the batch cannot be trained: ${problem}.`);
}
