import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { CellResult, SeedResult } from './cell-result.js';
import { keepCurves, toCellCurve } from './curves.js';
import type { GateRun } from './gate.js';

/** The kept results: `results/<version>/<tutorial>.<backbone>.json`. */

const resultsDir = path.join(import.meta.dirname, 'results');

const partsOf = (version: string): readonly number[] =>
  version.split(/[.-]/).map((part) => Number.parseInt(part, 10) || 0);

function compareVersions(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  const at = left.findIndex((part, index) => part !== (right[index] ?? 0));
  return at === -1 ? left.length - right.length : (left[at] ?? 0) - (right[at] ?? 0);
}

/** Returns versions that have results, oldest first. Files in the folder, such as a log, do not count. */
export function listVersions(dir = resultsDir): readonly string[] {
  if (!existsSync(dir)) return [];
  const folders = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.map(({ name }) => name).toSorted(compareVersions);
}

export function readResults(version: string, dir = resultsDir): readonly CellResult[] {
  return readdirSync(path.join(dir, version))
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    .map((file) => JSON.parse(readFileSync(path.join(dir, version, file), 'utf8')) as CellResult);
}

/** Writes a result. The curve of the kept result that it replaces stays. */
export function writeResult(result: CellResult, dir = resultsDir): string {
  const file = path.join(dir, result.version, `${result.tutorial}.${result.backbone}.json`);
  mkdirSync(path.dirname(file), { recursive: true });
  if (dir === resultsDir && existsSync(file)) keepCurves([toCellCurve(JSON.parse(readFileSync(file, 'utf8')))]);
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
  return file;
}

/**
 * Returns results of a cell in its last releases, newest first. A release is a version. Its results are replaced until
 * the next version.
 */
export function readBaseline(
  cell: { readonly tutorial: string; readonly backbone: string; readonly model: string },
  mostReleases = 5,
  dir = resultsDir,
): readonly CellResult[] {
  const isOfCell = ({ tutorial, backbone, model }: CellResult): boolean =>
    tutorial === cell.tutorial && backbone === cell.backbone && model === cell.model;
  return listVersions(dir)
    .toReversed()
    .flatMap((version) => readResults(version, dir).filter(isOfCell))
    .slice(0, mostReleases);
}

/** `isTimed` says whether the speed of the seed can be compared with that of other seeds. */
export function toGateRun(seed: SeedResult, isTimed: boolean): GateRun {
  return {
    seed: seed.seed,
    before: seed.success_before ?? seed.success_at['5'] ?? 0,
    after: seed.success_after ?? seed.success_mean_last_20,
    areaUnderCurve: seed.area_under_curve,
    // Multiply by the tokens, because seeds sample different numbers of them, which is not a difference in speed.
    speed: isTimed ? seed.speed * seed.generated_tokens : null,
  };
}
