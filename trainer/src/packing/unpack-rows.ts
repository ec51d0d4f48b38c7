import type { TreePack } from '@agentjet/core';
import type { RowPlace } from './pack-trees.js';

/**
 * Returns for each packed token the packed index of the token before it in its row, or -1 for the first. Time is
 * linear.
 */
export function findParents({ positions, ends }: Pick<TreePack, 'positions' | 'ends'>): Int32Array {
  const parents = new Int32Array(positions.length);
  const lastAtDepth: number[] = [];
  for (let index = 0; index < positions.length; index++) {
    const depth = positions[index] as number;
    const parent = depth === 0 ? -1 : lastAtDepth[depth - 1];
    if (parent === undefined || (parent !== -1 && (ends[parent] as number) <= index))
      throw new Error(`Packed token ${index} at depth ${depth} has no parent, so the pack is not in preorder.`);
    parents[index] = parent;
    lastAtDepth[depth] = index;
  }
  return parents;
}

/** Returns the ids of a packed row, root first. It is the inverse of packing. */
export function unpackRow(pack: TreePack, { lastIndex }: RowPlace, parents = findParents(pack)): Int32Array {
  const row = new Int32Array((pack.positions[lastIndex] ?? -1) + 1);
  for (let index = lastIndex; index !== -1; index = parents[index] as number)
    row[pack.positions[index] as number] = pack.ids[index] as number;
  return row;
}
