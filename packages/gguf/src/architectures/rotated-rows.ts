/**
 * The rows of queries and keys of llama. Both halves of a head are rotated together: row i of the first half with row i
 * of the second. GGUF puts these two rows next to each other.
 */

type Heads = { readonly numHeads: number; readonly headDim: number };

/**
 * Returns the number and size of the heads in a tensor, or undefined if it is not rotated. `name` is its name in GGUF.
 */
export function headsOfRows(
  name: string,
  { numHeads, numKvHeads, headDim }: Heads & { readonly numKvHeads: number },
): Heads | undefined {
  if (/^blk\.\d+\.attn_q\.(weight|bias)$/.test(name)) return { numHeads, headDim };
  if (/^blk\.\d+\.attn_k\.(weight|bias)$/.test(name)) return { numHeads: numKvHeads, headDim };
  return undefined;
}

/** Returns the row of a GGUF file that has the values of `row` of a model folder. */
export function toPairedRow(row: number, { headDim }: Pick<Heads, 'headDim'>): number {
  const [head, inHead] = [Math.floor(row / headDim), row % headDim];
  const half = headDim / 2;
  return head * headDim + (inHead % half) * 2 + Math.floor(inHead / half);
}

/** Returns the row of a model folder that has the values of `row` of a GGUF file. */
export function toHalvedRow(row: number, { headDim }: Pick<Heads, 'headDim'>): number {
  const [head, inHead] = [Math.floor(row / headDim), row % headDim];
  return head * headDim + (inHead % 2) * (headDim / 2) + Math.floor(inHead / 2);
}
