import path from 'node:path';
import { toErrorMessage } from '@agentjet/core';
import { cellName, modelNameOf, type Cell } from './cells/cell.js';
import type { CellResult, SeedResult } from './cell-result.js';
import { currentVersion, describeMachineWithGpu, hashModel, libraryVersions, readCommit } from './release-identity.js';
import { runSeed } from './run-seed.js';
import { writeResult } from './store.js';

/** Returns one line about a seed that has ended. */
export function describeSeed(cell: Cell, { seed, success_before, success_after, seconds, speed }: SeedResult): string {
  const shown = (value: number | null): string => value?.toFixed(2) ?? '-';
  return `${cellName(cell)} seed ${seed}: success ${shown(success_before)} -> ${shown(success_after)}, ${Math.round(seconds.total)} s, speed ${speed.toFixed(3)}`;
}

type Recording = {
  readonly seeds: readonly number[];
  readonly say: (line: string) => void;
  /** A folder for the result. It is then not one of the kept results, and every seed may have failed. */
  readonly out?: string | undefined;
};

type Trained = Pick<CellResult, 'seeds' | 'config_sha256'> & { readonly failed: NonNullable<CellResult['failed']> };

async function trainSeeds(cell: Cell, { seeds, say }: Recording): Promise<Trained> {
  const results: SeedResult[] = [];
  const failed: { seed: number; error: string }[] = [];
  let configSha256 = '';
  for (const seed of seeds) {
    try {
      const ended = await runSeed(cell, seed);
      configSha256 = ended.configSha256;
      results.push(ended.result);
      say(describeSeed(cell, ended.result));
    } catch (error) {
      failed.push({ seed, error: toErrorMessage(error) });
      say(`${cellName(cell)} seed ${seed}: ${toErrorMessage(error)}`);
    }
  }
  return { config_sha256: configSha256, seeds: results, failed };
}

/**
 * Trains a cell with each seed and keeps the result under the present version. Resolves to the file. A seed that ends
 * with an error is kept as failed.
 */
export async function recordCell(cell: Cell, recording: Recording): Promise<string> {
  const { commit, clean } = readCommit();
  const { failed, ...trained } = await trainSeeds(cell, recording);
  if (trained.seeds.length === 0 && recording.out === undefined)
    throw new Error(`${cellName(cell)}: every seed failed. ${failed.at(-1)?.error}`);
  const result: CellResult = {
    version: currentVersion(),
    commit,
    clean,
    date: new Date().toISOString().slice(0, 10),
    machine: describeMachineWithGpu(),
    libraries: libraryVersions(),
    tutorial: cell.tutorial,
    backbone: cell.backbone,
    model: modelNameOf(cell),
    model_sha256: hashModel(cell.model),
    ...trained,
    ...(failed.length > 0 && { failed }),
  };
  return path.relative(process.cwd(), writeResult(result, recording.out));
}
