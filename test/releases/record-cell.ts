import path from 'node:path';
import { cellName, type Cell } from './cells.js';
import type { SeedResult } from './cell-result.js';
import { currentVersion, describeMachine, hashModel, libraryVersions, readCommit } from './release-identity.js';
import { runSeed } from './run-seed.js';
import { writeResult } from './store.js';

/** Returns one line about a seed that has ended. */
export function describeSeed(cell: Cell, { seed, success_before, success_after, seconds, speed }: SeedResult): string {
  const shown = (value: number | null): string => value?.toFixed(2) ?? '-';
  return `${cellName(cell)} seed ${seed}: success ${shown(success_before)} -> ${shown(success_after)}, ${Math.round(seconds.total)} s, speed ${speed.toFixed(3)}`;
}

/** Trains a cell with each seed and keeps the result under the present version. Resolves to the file. */
export async function recordCell(cell: Cell, seeds: readonly number[], say: (line: string) => void): Promise<string> {
  const { commit, clean } = readCommit();
  const results: SeedResult[] = [];
  let configSha256 = '';
  for (const seed of seeds) {
    const ended = await runSeed(cell, seed);
    configSha256 = ended.configSha256;
    results.push(ended.result);
    say(describeSeed(cell, ended.result));
  }
  const file = writeResult({
    version: currentVersion(),
    commit,
    clean,
    date: new Date().toISOString().slice(0, 10),
    machine: describeMachine(),
    libraries: libraryVersions(),
    tutorial: cell.tutorial,
    backbone: cell.backbone,
    model: cell.model,
    model_sha256: hashModel(cell.model),
    config_sha256: configSha256,
    seeds: results,
  });
  return path.relative(process.cwd(), file);
}
