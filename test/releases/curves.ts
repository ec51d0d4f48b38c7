import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isJsonObject } from '@agentjet/core';
import type { CellResult, SeedResult } from './cell-result.js';

/**
 * The curves of all releases, so that the page can draw them over one another. `curves/<tutorial>.<backbone>.json` keeps
 * what a curve needs of each measured result, also of results that a newer one has replaced.
 */

type SeedCurve = Pick<SeedResult, 'seed' | 'success_before' | 'success_after' | 'success_at'>;

export type CellCurve = Pick<
  CellResult,
  'version' | 'date' | 'commit' | 'tutorial' | 'backbone' | 'model' | 'model_sha256'
> & { readonly seeds: readonly SeedCurve[] };

export const curvesDir = path.join(import.meta.dirname, 'curves');

const texts = ['version', 'date', 'commit', 'tutorial', 'backbone', 'model', 'model_sha256'] as const;

const isRate = (value: unknown): value is number | null => value === null || typeof value === 'number';

function toSeedCurve(seed: unknown): SeedCurve {
  if (!isJsonObject(seed)) throw new Error('a seed is not an object');
  const { seed: number, success_before: before, success_after: after, success_at: at } = seed;
  if (typeof number !== 'number') throw new Error('a seed has no number');
  if (!isRate(before) || !isRate(after)) throw new Error(`seed ${number} has no success before and after`);
  if (!isJsonObject(at) || !Object.values(at).every(isRate)) throw new Error(`seed ${number} has no success_at`);
  return { seed: number, success_before: before, success_after: after, success_at: at as SeedCurve['success_at'] };
}

/** Takes the curve out of a result. Throws an Error that says which part is missing. */
export function toCellCurve(result: unknown): CellCurve {
  if (!isJsonObject(result)) throw new Error('it is not an object');
  const missing = texts.find((name) => typeof result[name] !== 'string');
  if (missing !== undefined) throw new Error(`it has no ${missing}`);
  const { seeds } = result;
  if (!Array.isArray(seeds) || seeds.length === 0) throw new Error('it has no seeds');
  const head = Object.fromEntries(texts.map((name) => [name, result[name]])) as Pick<CellCurve, (typeof texts)[number]>;
  return { ...head, seeds: seeds.map(toSeedCurve) };
}

const fileOf = ({ tutorial, backbone }: Pick<CellCurve, 'tutorial' | 'backbone'>): string =>
  `${tutorial}.${backbone}.json`;

/** Two results are the same measurement if they have the same commit. The later one has more seeds. */
const keyOf = ({ version, commit }: CellCurve): string => `${version} ${commit}`;

/** Returns all kept curves by cell, and those of `results`, oldest first. */
export function readCurves(results: readonly CellResult[], dir = curvesDir): ReadonlyMap<string, readonly CellCurve[]> {
  const files = existsSync(dir) ? readdirSync(dir).filter((name) => name.endsWith('.json')) : [];
  const kept = files.flatMap((name) => JSON.parse(readFileSync(path.join(dir, name), 'utf8')) as CellCurve[]);
  return groupCurves([...kept, ...results.map(toCellCurve)]);
}

function groupCurves(curves: readonly CellCurve[]): ReadonlyMap<string, readonly CellCurve[]> {
  const cells = new Map<string, Map<string, CellCurve>>();
  for (const curve of curves.toSorted((a, b) => (a.date < b.date ? -1 : Number(a.date > b.date)))) {
    const cell = cells.get(fileOf(curve)) ?? new Map<string, CellCurve>();
    const before = cell.get(keyOf(curve));
    if (before === undefined || before.seeds.length <= curve.seeds.length) cell.set(keyOf(curve), curve);
    cells.set(fileOf(curve), cell);
  }
  return new Map([...cells].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([file, cell]) => [file, [...cell.values()]]));
}

/** Adds curves to the kept ones. */
export function keepCurves(curves: readonly CellCurve[], dir = curvesDir): void {
  mkdirSync(dir, { recursive: true });
  const files = new Set(curves.map(fileOf));
  const all = groupCurves([...readCurves([], dir).values()].flat().concat(curves));
  for (const [file, cell] of all)
    if (files.has(file)) writeFileSync(path.join(dir, file), `${JSON.stringify(cell, null, 1)}\n`);
}
