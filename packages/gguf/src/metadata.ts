import { badFile } from '@agentjet/trainer/model-files';
import type { GgufValue } from './header-cursor.js';
import type { GgufFile } from './read-gguf.js';

/**
 * These functions return the value of a metadata key. Each throws BackboneError `bad_model_files` if the value does not
 * have the type that the key requires.
 */

export function textAt({ file, metadata }: GgufFile, key: string): string | undefined {
  const value = metadata.get(key);
  if (value === undefined || typeof value === 'string') return value;
  throw badFile(file, `its ${key} is ${show(value)}, not a string`);
}

export function numberAt({ file, metadata }: GgufFile, key: string): number | undefined {
  const value = metadata.get(key);
  if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value;
  throw badFile(file, `its ${key} is ${show(value)}, not a number`);
}

/** Throws if the value is not above 0. */
export function positiveAt(gguf: GgufFile, key: string): number | undefined {
  const value = numberAt(gguf, key);
  if (value === undefined || value > 0) return value;
  throw badFile(gguf.file, `its ${key} is ${value}, not a number above 0`);
}

/** Throws if the key is missing or its value is not a positive whole number. */
export function countAt(gguf: GgufFile, key: string): number {
  const value = numberAt(gguf, key);
  if (value !== undefined && Number.isInteger(value) && value > 0) return value;
  throw badFile(gguf.file, `its ${key} is ${show(value)}, not a positive whole number`);
}

export function flagAt({ file, metadata }: GgufFile, key: string): boolean | undefined {
  const value = metadata.get(key);
  if (value === undefined || typeof value === 'boolean') return value;
  throw badFile(file, `its ${key} is ${show(value)}, not true or false`);
}

export function textsAt({ file, metadata }: GgufFile, key: string): readonly string[] | undefined {
  const value = metadata.get(key);
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
  throw badFile(file, `its ${key} is not a list of strings`);
}

export function numbersAt({ file, metadata }: GgufFile, key: string): readonly number[] | undefined {
  const value = metadata.get(key);
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.every((each) => typeof each === 'number')) return value;
  throw badFile(file, `its ${key} is not a list of numbers`);
}

function show(value: GgufValue | undefined): string {
  return value === undefined ? 'missing' : Array.isArray(value) ? 'a list' : String(value);
}

/** Returns the shortest decimal with the same float32 value, such as 0.00001 for 0.000009999999747378752. */
export function shortestFloat32(value: number): number {
  for (let digits = 1; digits < 10; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === Math.fround(value)) return short;
  }
  return value;
}
