import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { Random } from '@agentjet/core';
import { pick } from './world.js';

/** One change to one file, as data. It is drawn from a seed and made by `applyMutation`. */
export type Mutation = {
  readonly file: string;
  readonly kind: MutationKind;
  readonly at: number;
  readonly value: number;
};

export const mutationKinds = [
  'flip-bit',
  'flip-digit',
  'random-bytes',
  'zero-bytes',
  'truncate',
  'empty',
  'delete',
  'drop-line',
  'repeat-line',
  'garbage-line',
  'json-number',
  'json-drop',
  'folder',
  'link-loop',
] as const;
export type MutationKind = (typeof mutationKinds)[number];

export const drawMutation = (random: Random, files: readonly string[]): Mutation => ({
  file: pick(random, files),
  kind: pick(random, mutationKinds),
  at: random.next(),
  value: random.next(),
});

type Change = (bytes: Buffer, at: number, value: number) => Buffer;

const place = (length: number, at: number): number => Math.min(length - 1, Math.floor(at * length));

function changeBytes(bytes: Buffer, at: number, make: (old: number, index: number) => number, count: number): Buffer {
  const changed = Buffer.from(bytes);
  const start = place(bytes.length, at);
  for (let index = start; index < Math.min(start + count, bytes.length); index++)
    changed.writeUInt8(make(changed.readUInt8(index), index) & 255, index);
  return changed;
}

function changeLines(bytes: Buffer, at: number, change: (lines: string[], index: number) => void): Buffer {
  const lines = bytes.toString('latin1').split('\n');
  change(lines, place(Math.max(1, lines.length - 1), at));
  return Buffer.from(lines.join('\n'), 'latin1');
}

/** Changes a digit of a number, so that JSON stays JSON. */
function flipDigit(bytes: Buffer, at: number, value: number): Buffer {
  const text = bytes.toString('latin1');
  const digits = [...text.matchAll(/\d/g)];
  const found = digits[place(digits.length, at)];
  if (found === undefined) return bytes;
  const digit = (Number(found[0]) + 1 + Math.floor(value * 9)) % 10;
  return Buffer.from(`${text.slice(0, found.index)}${digit}${text.slice(found.index + 1)}`, 'latin1');
}

type Leaf = { readonly holder: Record<string, unknown>; readonly key: string };

function listLeaves(value: unknown, wanted: (leaf: unknown) => boolean): readonly Leaf[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [
    ...(wanted(holder[key]) ? [{ holder, key }] : []),
    ...listLeaves(holder[key], wanted),
  ]);
}

const oddNumbers = [-1, 0, 1.5, 7, 1e12, 2 ** 31, -0.5];

/** Changes one leaf of the JSON or, in JSON lines, one leaf of the first line. */
function changeJson(
  bytes: Buffer,
  wanted: (leaf: unknown) => boolean,
  at: number,
  change: (leaf: Leaf) => void,
): Buffer {
  const text = bytes.toString();
  const end = /^\{[^\n]*\}\n/.exec(text)?.[0].length ?? text.length;
  try {
    const value: unknown = JSON.parse(text.slice(0, end));
    const leaves = listLeaves(value, wanted);
    const leaf = leaves[place(leaves.length, at)];
    if (leaf === undefined) return bytes;
    change(leaf);
    return Buffer.from(`${JSON.stringify(value)}\n${text.slice(end)}`);
  } catch {
    return flipDigit(bytes, at, 0.5);
  }
}

const changes: Readonly<Partial<Record<MutationKind, Change>>> = {
  'flip-bit': (bytes, at, value) => changeBytes(bytes, at, (old) => old ^ (1 << Math.floor(value * 8)), 1),
  'flip-digit': flipDigit,
  'random-bytes': (bytes, at, value) =>
    changeBytes(bytes, at, (_old, index) => Math.imul(index + 1, value * 2 ** 31) >>> 7, 16),
  'zero-bytes': (bytes, at) => changeBytes(bytes, at, () => 0, 16),
  truncate: (bytes, at) => bytes.subarray(0, place(bytes.length, at)),
  empty: () => Buffer.alloc(0),
  'drop-line': (bytes, at) => changeLines(bytes, at, (lines, index) => lines.splice(index, 1)),
  'repeat-line': (bytes, at) => changeLines(bytes, at, (lines, index) => lines.splice(index, 0, lines[index] ?? '')),
  'garbage-line': (bytes, at) => changeLines(bytes, at, (lines, index) => lines.splice(index, 0, '{"step": 1, "x": [')),
  'json-number': (bytes, at, value) =>
    changeJson(
      bytes,
      (leaf) => typeof leaf === 'number',
      at,
      ({ holder, key }) => {
        holder[key] = oddNumbers[Math.floor(value * oddNumbers.length)];
      },
    ),
  'json-drop': (bytes, at) =>
    changeJson(
      bytes,
      () => true,
      at,
      ({ holder, key }) => Reflect.deleteProperty(holder, key),
    ),
};

/** Returns whether the file has changed. */
export function applyMutation({ kind, at, value }: Mutation, file: string): boolean {
  const bytes = readFileSync(file);
  const change = changes[kind];
  if (change !== undefined) {
    const changed = bytes.length === 0 ? bytes : change(bytes, at, value);
    writeFileSync(file, changed);
    return !changed.equals(bytes);
  }
  rmSync(file);
  if (kind === 'folder') mkdirSync(file);
  if (kind === 'link-loop') symlinkSync(file, file);
  return true;
}
