import type { TreePack } from '@agentjet/core';

/**
 * Appends padding up to `length`. A padding token has id 0, position 0 and weight 0, and no other token attends to it.
 * A pack that is long enough is returned unchanged.
 */
export function padPack(pack: TreePack, length: number): TreePack {
  const from = pack.ids.length;
  if (length <= from) return pack;
  const ends = extend(pack.ends, length);
  for (let index = from; index < length; index++) ends[index] = index + 1;
  return { ...pack, ids: extend(pack.ids, length), positions: extend(pack.positions, length), ends };
}

function extend(array: Int32Array, length: number): Int32Array {
  const longer = new Int32Array(length);
  longer.set(array);
  return longer;
}
