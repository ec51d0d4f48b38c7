import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isJsonObject } from '@agentjet/core';
import { type Kind, kinds } from '#tutorial/choose-function/functions.js';
import type { CellResult, SeedResult } from '../../releases/cell-result.js';
import { listVersions, readResults } from '../../releases/store.js';
import { median, type Measured } from '../bench.js';
import { round } from './run-training.js';

/** Figures that other jobs measure. They are read from kept results, with the commit that they were measured at. */

type Kept = Readonly<Record<string, unknown>>;

const testDir = path.join(import.meta.dirname, '../..');

function readKept(file: string): Kept | undefined {
  const full = path.join(testDir, file);
  if (!existsSync(full)) return undefined;
  const kept: unknown = JSON.parse(readFileSync(full, 'utf8'));
  return isJsonObject(kept) ? kept : undefined;
}

const originOf = ({ commit, date }: Kept | CellResult): Measured['details'] => ({ commit, date });

/** Reads the figures that `.ci/nightly gguf` measures. */
export function readGguf(): Measured | undefined {
  const kept = readKept('nightly/results/gguf.json');
  if (kept === undefined) return undefined;
  const { types_in_whole_models: types, export_same_greedy: isSame } = kept;
  return { summary: { types_read: types, export_same_greedy: isSame }, details: originOf(kept) };
}

/** Reads the figures that `npm run bench -- probe` measures. */
export function readProbe(): Measured | undefined {
  const kept = readKept('bench/results/probe.json');
  if (kept === undefined) return undefined;
  const { task_sets, mean_error_of_share, worst_error_of_share } = kept;
  return { summary: { task_sets, mean_error_of_share, worst_error_of_share }, details: originOf(kept) };
}

const newestOf = (results: readonly CellResult[], name: string): CellResult | undefined =>
  results.findLast(({ tutorial }) => tutorial === name);

const readAllCells = (): readonly CellResult[] => listVersions().flatMap((version) => readResults(version));

/** Reads the figures that `npm run releases -- --only choose-function` measures on a GPU. */
export function readBfclCoder(): Measured | undefined {
  return describeChoice(newestOf(readAllCells(), 'choose-function'));
}

/**
 * Returns the median success of the seeds for each kind of question: of the untrained model, after the imitation, and
 * after the training. A seed that ended with an error counts as no success.
 */
export function describeChoice(result: CellResult | undefined): Measured | undefined {
  if (result === undefined) return undefined;
  const { seeds, failed = [] } = result;
  const medianOf = (kind: Kind, of: (seed: SeedResult) => SeedResult['kinds_after'], ofFailed = failed): number =>
    round(median([...seeds.map((seed) => of(seed)?.[kind] ?? Number.NaN), ...ofFailed.map(() => 0)]));
  const rows = kinds.map((kind) => {
    const before = medianOf(kind, ({ stages }) => stages?.[0]?.kinds_before, []);
    const afterSft = medianOf(kind, ({ stages }) => stages?.[0]?.kinds_after);
    return [kind, { before, after_sft: afterSft, after: medianOf(kind, (seed) => seed.kinds_after) }] as const;
  });
  return { summary: { ...Object.fromEntries(rows), device: result.machine['gpu'] ?? null }, details: originOf(result) };
}

/**
 * Reads the figures that `npm run releases -- --only typed-tools-lenient` and `typed-tools-strict` measure on a GPU.
 */
export function readTypedTools(): Measured | undefined {
  return describeTypedTools(readAllCells());
}

/**
 * Returns the success of the untrained model, whose calls without tags do not count, as `strict_before`. `after` is the
 * lower of two medians: of the seeds with lenient tool calls, and of the seeds that imitated first.
 */
export function describeTypedTools(results: readonly CellResult[]): Measured | undefined {
  const [lenient, strict] = [newestOf(results, 'typed-tools-lenient'), newestOf(results, 'typed-tools-strict')];
  if (lenient === undefined || strict === undefined) return undefined;
  const afters = [lenient, strict].map(({ seeds, failed = [] }) =>
    median([...seeds.map((seed) => seed.success_after ?? Number.NaN), ...failed.map(() => 0)]),
  );
  return {
    summary: {
      strict_before: strict.seeds[0]?.stages?.[0]?.success_before ?? null,
      lenient_before: lenient.seeds[0]?.success_before ?? null,
      after: Math.min(...afters),
      device: lenient.machine['gpu'] ?? null,
    },
    details: { commit: lenient.commit, date: lenient.date, after_lenient: afters[0], after_strict: afters[1] },
  };
}
