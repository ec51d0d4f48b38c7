import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isJsonObject } from '@agentjet/core';
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

/** `.ci/nightly gguf` measures it. */
export function readGguf(): Measured | undefined {
  const kept = readKept('nightly/results/gguf.json');
  if (kept === undefined) return undefined;
  const { types_in_whole_models: types, export_same_greedy: isSame } = kept;
  return { summary: { types_read: types, export_same_greedy: isSame }, details: originOf(kept) };
}

/** `npm run bench -- probe` measures it. */
export function readProbe(): Measured | undefined {
  const kept = readKept('bench/results/probe.json');
  if (kept === undefined) return undefined;
  const { task_sets, mean_error_of_share, worst_error_of_share } = kept;
  return { summary: { task_sets, mean_error_of_share, worst_error_of_share }, details: originOf(kept) };
}
