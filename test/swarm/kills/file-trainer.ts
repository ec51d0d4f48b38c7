import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TrainerPort } from '@agentjet/swarm-server';

/** Weights that are the list of everything that was applied to them, with checkpoints in files. */
export type FileWeights = { readonly applied: readonly string[]; readonly episodeIds: readonly string[] };

export function createFileTrainer(dir: string): TrainerPort {
  mkdirSync(dir, { recursive: true });
  let weights: FileWeights = { applied: [], episodeIds: [] };
  return {
    repeatsExactly: true,
    checkpoints: async () => [0, ...stepsIn(dir)],
    load: async (step) => {
      weights = step === 0 ? { applied: [], episodeIds: [] } : readWeights(dir, step);
    },
    optimize: async (manifest, index, known) => {
      await sleep(10);
      const held = manifest.groups.filter(({ groupId }) => manifest.optimizerSteps[index]?.includes(groupId));
      const episodeIds = held.flatMap(({ episodes }) => episodes.map(({ episodeId }) => episodeId));
      weights = {
        applied: [...weights.applied, `${manifest.step}.${index}`],
        episodeIds: [...weights.episodeIds, ...episodeIds],
      };
      return known ?? { isApplied: true };
    },
    publish: async () => {},
    save: async (step) => writeWeights(dir, step, weights),
    removeCheckpoint: async (step) => rmSync(path.join(dir, `${step}.json`), { force: true }),
    plan: (groups) => ({ optimizerSteps: groups.map(({ groupId }) => [groupId]) }),
  };
}

export function stepsIn(dir: string): readonly number[] {
  return readdirSync(dir).flatMap((name) => (/^\d+\.json$/.test(name) ? [Number.parseInt(name, 10)] : []));
}

export const readWeights = (dir: string, step: number): FileWeights =>
  JSON.parse(readFileSync(path.join(dir, `${step}.json`), 'utf8')) as FileWeights;

/** Whole or not there: written beneath another name, synced, and then renamed. */
function writeWeights(dir: string, step: number, weights: FileWeights): void {
  const file = path.join(dir, `${step}.json`);
  const handle = openSync(`${file}.part`, 'w');
  writeSync(handle, JSON.stringify(weights));
  fsyncSync(handle);
  closeSync(handle);
  renameSync(`${file}.part`, file);
}
