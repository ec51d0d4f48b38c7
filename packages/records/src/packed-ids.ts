import type { ByteSlab } from './byte-slab.js';

/** Bytes of each id, little-endian. */
export type IdWidth = 2 | 3 | 4;

/**
 * Stores token ids with as few bytes per id as the largest id needs. A negative id needs four. `bits` is the bitwise OR
 * of all ids, so that this function does not have to scan them.
 */
export function packIds(ids: Int32Array, bits: number, slab: ByteSlab): PackedIds {
  if (bits >>> 24 !== 0) return { width: 4, bytes: new Uint8Array(ids.slice().buffer) };
  if (bits >>> 16 !== 0) return { width: 3, bytes: packIn3(ids) };
  const start = slab.take(2 * ids.length);
  slab.shorts.set(ids, start / 2);
  return { width: 2, bytes: slab.bytes.subarray(start, start + 2 * ids.length) };
}

type PackedIds = { readonly width: IdWidth; readonly bytes: Uint8Array };

function packIn3(ids: Int32Array): Uint8Array {
  const bytes = new Uint8Array(3 * ids.length);
  let to = 0;
  for (let at = 0; at < ids.length; at++) {
    const id = ids[at] ?? 0;
    bytes[to++] = id;
    bytes[to++] = id >> 8;
    bytes[to++] = id >> 16;
  }
  return bytes;
}

/** Returns the ids that `packIds` stored. */
export function unpackIds(bytes: Uint8Array, width: IdWidth): Int32Array {
  const ids = new Int32Array(bytes.length / width);
  for (let at = 0, from = 0; at < ids.length; at++, from += width) {
    const low = (bytes[from] ?? 0) | ((bytes[from + 1] ?? 0) << 8);
    ids[at] = low | ((width > 2 ? (bytes[from + 2] ?? 0) : 0) << 16) | ((width > 3 ? (bytes[from + 3] ?? 0) : 0) << 24);
  }
  return ids;
}
