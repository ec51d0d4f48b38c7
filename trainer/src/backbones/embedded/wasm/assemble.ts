/**
 * Assembles functions byte by byte as a WebAssembly module with SIMD. This needs neither a build step nor a binary file
 * in the repository.
 */

import { webAssembly } from './web-assembly.js';
import type { WasmMemory } from './web-assembly.js';

export type Code = readonly number[];

export const types = { i32: 0x7f, f32: 0x7d, f64: 0x7c, v128: 0x7b };

export type WasmFunction = {
  readonly name: string;
  /** Types of the parameters, which are the first locals. */
  readonly parameters: Code;
  readonly results: Code;
  /** The number of vectors among the locals. They follow the parameters. */
  readonly vectors: number;
  readonly body: Code;
};

/** Encodes unsigned LEB128. */
function unsigned(value: number): Code {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

const vector = (items: readonly Code[]): Code => [...unsigned(items.length), ...items.flat()];
const sized = (body: Code): Code => [...unsigned(body.length), ...body];
const section = (id: number, body: Code): Code => [id, ...sized(body)];
const text = (name: string): Code => sized([...Buffer.from(name)]);

export const get = (local: number): Code => [0x20, ...unsigned(local)];
export const set = (local: number): Code => [0x21, ...unsigned(local)];
export const simd = (operation: number): Code => [0xfd, ...unsigned(operation)];
export const load = (address: number): Code => [...get(address), ...simd(0x00), 2, 0];
export const store = (address: number, value: Code): Code => [...get(address), ...value, ...simd(0x0b), 2, 0];
/** Adds a step of less than 64 to a local. */
export const advance = (local: number, step: number): Code => [...get(local), 0x41, step, 0x6a, ...set(local)];
export const splat32 = simd(0x13);
export const multiply32 = simd(0xe6);

/** Repeats the body until `isDone` is true. */
export function loopUntil(isDone: Code, body: Code): Code {
  return [0x02, 0x40, 0x03, 0x40, ...isDone, 0x0d, 1, ...body, 0x0c, 0, 0x0b, 0x0b];
}

function moduleBytes(functions: readonly WasmFunction[]): Uint8Array {
  const header: Code = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
  return Uint8Array.from([
    ...header,
    ...section(1, vector(functions.map(({ parameters, results }) => [0x60, ...sized(parameters), ...sized(results)]))),
    ...section(2, vector([[...text('host'), ...text('memory'), 0x02, 0x00, 0x00]])),
    ...section(3, vector(functions.map((_, index) => unsigned(index)))),
    ...section(7, vector(functions.map(({ name }, index) => [...text(name), 0x00, ...unsigned(index)]))),
    ...section(
      10,
      vector(
        functions.map(({ vectors, body }) =>
          sized([...vector(vectors === 0 ? [] : [[...unsigned(vectors), types.v128]]), ...body, 0x0b]),
        ),
      ),
    ),
  ]);
}

/** Returns the functions over this memory by name, or undefined if the machine or the runtime has no SIMD. */
export function compileFunctions(functions: readonly WasmFunction[], memory: WasmMemory): unknown {
  const bytes = moduleBytes(functions);
  if (!webAssembly.validate(bytes)) return undefined;
  return new webAssembly.Instance(new webAssembly.Module(bytes), { host: { memory } }).exports;
}
