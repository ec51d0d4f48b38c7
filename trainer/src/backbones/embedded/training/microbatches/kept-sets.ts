import { outsideOfSet, wholeVocabulary, type KeptTokens, type TreePack, type Truncation } from '@agentjet/core';
import { findCutoff } from '../../sampling/cutoff.js';
import type { FloatArray } from '../optimizer/optimizer-memory.js';
import type { MicrobatchArrays } from './microbatch-arrays.js';
import type { Microbatch } from './plan-microbatches.js';

type OpenSets = { readonly set: Int32Array; readonly sets: Int32Array[] };

/** Finds the tokens that a sampler keeps at each term of each pack, with the same code as the sampler. */
export class KeptSets {
  readonly #packs: ReadonlyMap<TreePack, OpenSets>;
  readonly #truncation: Truncation;

  constructor(packs: readonly TreePack[], truncation: Truncation) {
    const empty = ({ terms }: TreePack): OpenSets => ({
      set: new Int32Array(terms.pair.length).fill(wholeVocabulary),
      sets: [],
    });
    this.#packs = new Map(packs.map((pack) => [pack, empty(pack)]));
    this.#truncation = truncation;
  }

  /** There is one per pack, in order. */
  get kept(): readonly KeptTokens[] {
    return [...this.#packs.values()].map(({ set, sets }) => ({ set, ...joined(sets) }));
  }

  /**
   * `distributions` [rows, V] are those of the rows that `arrays.pairRows` points at. `temperature` applies to terms
   * without their own.
   */
  add({ trees }: Microbatch, arrays: MicrobatchArrays, distributions: FloatArray, temperature: number): void {
    const vocabSize = distributions.length / numRowsOf(arrays);
    const setOfRow = new Map<number, { readonly number: number; readonly ids: Int32Array }>();
    let next = 0;
    for (const { tree } of trees) {
      const open = this.#packs.get(tree.pack);
      for (const term of tree.terms) {
        const pair = arrays.termPairs[next++] ?? 0;
        if (open === undefined || (tree.pack.terms.temperatures?.[term] ?? temperature) === 0) continue;
        const row = arrays.pairRows[pair] ?? 0;
        const start = row * vocabSize;
        const found = setOfRow.get(row) ?? {
          number: open.sets.length,
          ids: keptIds(Float32Array.from(distributions.subarray(start, start + vocabSize)), this.#truncation),
        };
        if (found.number === open.sets.length) open.sets.push(found.ids);
        setOfRow.set(row, found);
        open.set[term] = found.ids.includes(arrays.pairTargets[pair] ?? -1) ? found.number : outsideOfSet;
      }
    }
  }
}

function numRowsOf({ mixed, headRows }: MicrobatchArrays): number {
  return mixed === undefined ? headRows.length : mixed.scaledRows.length;
}

/** Returns the ids that a sampler keeps of probabilities [V]. */
function keptIds(probabilities: Float32Array, truncation: Truncation): Int32Array {
  const { cutoff } = findCutoff(probabilities, truncation);
  const ids: number[] = [];
  for (let id = 0; id < probabilities.length; id += 1) {
    const probability = probabilities[id] ?? 0;
    if (probability > cutoff.probability || (probability === cutoff.probability && id <= cutoff.id)) ids.push(id);
  }
  return Int32Array.from(ids);
}

function joined(sets: readonly Int32Array[]): Pick<KeptTokens, 'starts' | 'ids'> {
  const starts = new Int32Array(sets.length + 1);
  for (const [number, { length }] of sets.entries()) starts[number + 1] = (starts[number] ?? 0) + length;
  const ids = new Int32Array(starts.at(-1) ?? 0);
  for (const [number, set] of sets.entries()) ids.set(set, starts[number]);
  return { starts, ids };
}
