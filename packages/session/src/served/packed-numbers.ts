/**
 * Numbers in JSON to the last bit: typed arrays as base64 of their little-endian bytes, and values that seldom change as
 * runs `[value, count, value, count, ...]`.
 */

export const packInts = (values: Int32Array): string => toBase64(values);

export const unpackInts = (text: string): Int32Array => intsIn(fromBase64(text));

export const packFloats = (values: Float32Array): string => toBase64(values);

export const unpackFloats = (text: string): Float32Array => floatsIn(fromBase64(text));

export const intsIn = (bytes: Uint8Array): Int32Array => new Int32Array(copyOf(bytes));

export const floatsIn = (bytes: Uint8Array): Float32Array => new Float32Array(copyOf(bytes));

/** Typed arrays begin at multiples of four bytes; bytes of a record begin anywhere. */
const copyOf = (bytes: Uint8Array): ArrayBuffer => Uint8Array.from(bytes).buffer;

export function packRuns(values: ArrayLike<number>): readonly number[] {
  const runs: number[] = [];
  for (let start = 0; start < values.length; ) {
    const value = values[start] ?? 0;
    let end = start + 1;
    while (end < values.length && Object.is(values[end], value)) end++;
    runs.push(value, end - start);
    start = end;
  }
  return runs;
}

export function unpackRuns<Values extends { fill(value: number, start: number, end: number): unknown }>(
  runs: readonly number[],
  into: Values,
): Values {
  let start = 0;
  for (let at = 0; at < runs.length; at += 2) {
    const end = start + (runs[at + 1] ?? 0);
    into.fill(runs[at] ?? 0, start, end);
    start = end;
  }
  return into;
}

const toBase64 = ({ buffer, byteOffset, byteLength }: Int32Array | Float32Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('base64');

const fromBase64 = (text: string): Uint8Array => Buffer.from(text, 'base64');
