import { createRandom } from '@agentjet/core';
import { readModelFolder, readTensorInto, type TensorEntry } from '@agentjet/trainer/model-files';
import type { Example } from './example.js';

/** Finds tokens that a model cannot tell apart, because their rows in the embedding are equal. */

const embedding = 'model.embed_tokens.weight';
/** The distance of two equal rows, as a share of their length. Rounding to 8 bits alone makes rows differ by 0.002. */
const tolerance = 0.01;
/** Only the first of so many different tokens are compared. */
const mostTokens = 4096;

/** Returns the tokens that the examples imitate, each once, in the order of their ids. */
export function imitatedTokens(examples: readonly Example[]): readonly number[] {
  const found = new Set<number>();
  for (const { rows } of examples)
    for (const { ids, lossMask } of rows) ids.forEach((id, at) => lossMask[at] === 1 && found.add(id));
  return [...found].toSorted((a, b) => a - b);
}

/**
 * Returns groups of tokens whose rows are equal. Empty if the folder has no embedding under the usual name, or a smaller
 * one.
 */
export async function findEqualRows(modelDir: string, ids: readonly number[]): Promise<readonly (readonly number[])[]> {
  const { tensors } = await readModelFolder(modelDir);
  const entry = tensors.get(embedding);
  if (entry === undefined || ids.some((id) => id >= (entry.shape[0] ?? 0))) return [];
  const rows = await Promise.all(ids.slice(0, mostTokens).map(async (id) => ({ id, row: await readRow(entry, id) })));
  // Equal rows have nearly the same product with any vector, so they are neighbours in its order.
  const random = createRandom(1);
  const vector = Float32Array.from({ length: entry.shape[1] ?? 0 }, () => random.next() - 0.5);
  const placed = rows.map((each) => ({ ...each, at: dot(each.row, vector) })).toSorted((a, b) => a.at - b.at);
  const groups: { readonly id: number; readonly row: Float32Array }[][] = [];
  for (const each of placed) {
    const last = groups.at(-1);
    if (last?.[0] !== undefined && areEqual(last[0].row, each.row)) last.push(each);
    else groups.push([each]);
  }
  return groups.filter(({ length }) => length > 1).map((group) => group.map(({ id }) => id).toSorted((a, b) => a - b));
}

async function readRow(entry: TensorEntry, id: number): Promise<Float32Array> {
  const [numRows = 0, width = 0] = entry.shape;
  const numBytes = entry.numBytes / numRows;
  const row = new Float32Array(width);
  await readTensorInto({ ...entry, shape: [width], start: entry.start + id * numBytes, numBytes }, row);
  return row;
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
}

function areEqual(a: Float32Array, b: Float32Array): boolean {
  const difference = a.map((value, at) => value - (b[at] ?? 0));
  return dot(difference, difference) <= tolerance ** 2 * dot(a, a);
}

/** Says which tokens the model cannot tell apart, and what follows. */
export function describeEqualRows(groups: readonly (readonly string[])[]): string {
  const named = groups.map((tokens) => tokens.map((token) => JSON.stringify(token)).join(' and ')).join('; ');
  return `The model cannot tell these imitated tokens apart, because they have the same row in its embedding, as tokens have that were never trained: ${named}. They need more steps than other tokens do. Look at the success at rollout.temperature before you train with rewards: greedy answers can all be right while half of the sampled ones have the wrong token.`;
}
