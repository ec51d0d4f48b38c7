import { float16ToFloat32 } from '@agentjet/trainer/model-files';

/** The position of a float16 value in the blocks of a type. */
export type ScalePlace = { readonly blockBytes: number; readonly at: number };

/** Reads the float16 value at this position of each block. */
export function readScales(bytes: Uint8Array, { blockBytes, at }: ScalePlace): Float32Array {
  const halves = new Uint16Array(bytes.length / blockBytes);
  for (let block = 0; block < halves.length; block++) {
    const start = block * blockBytes + at;
    halves[block] = (bytes[start] ?? 0) | ((bytes[start + 1] ?? 0) << 8);
  }
  const scales = new Float32Array(halves.length);
  float16ToFloat32(halves, scales);
  return scales;
}
