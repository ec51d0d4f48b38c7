import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isJsonObject } from '@agentjet/core';
import type { CellResult } from '../../releases/cell-result.js';
import { listVersions, readResults } from '../../releases/store.js';
import { median } from '../bench.js';
import type { Measured } from './measured.js';

/** Figures that other jobs measure. They are read from kept results, with the commit that they were measured at. */

type Kept = Readonly<Record<string, unknown>>;

const testDir = path.join(import.meta.dirname, '../..');

function readKept(file: string): Kept | undefined {
  const full = path.join(testDir, file);
  if (!existsSync(full)) return undefined;
  const kept: unknown = JSON.parse(readFileSync(full, 'utf8'));
  return isJsonObject(kept) ? kept : undefined;
}

const originOf = ({ commit, date }: Kept): Measured['details'] => ({ commit, date });

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

/** Reads the figures that `npm run bench -- real --only bfcl_coder` measured on a GPU. */
export function readBfclCoder(): Measured | undefined {
  const { bfcl_coder: summary, parts } = readKept('bench/results/real.json') ?? {};
  const part = isJsonObject(parts) ? parts['bfcl_coder'] : undefined;
  return isJsonObject(summary) && isJsonObject(part) ? { summary, details: originOf(part) } : undefined;
}

/**
 * Reads the figures that `npm run releases -- --only typed-tools-lenient` and `typed-tools-strict` measure on a GPU.
 */
export function readTypedTools(): Measured | undefined {
  return describeTypedTools(listVersions().flatMap((version) => readResults(version)));
}

/**
 * Returns the success of the untrained model, whose calls without tags do not count, as `strict_before`. `after` is the
 * lower of two medians: of the seeds with lenient tool calls, and of the seeds that imitated first.
 */
export function describeTypedTools(results: readonly CellResult[]): Measured | undefined {
  const newest = (name: string): CellResult | undefined => results.findLast(({ tutorial }) => tutorial === name);
  const [lenient, strict] = [newest('typed-tools-lenient'), newest('typed-tools-strict')];
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
