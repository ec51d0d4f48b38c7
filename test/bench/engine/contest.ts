import { plainLoss } from '@agentjet/trainer/testing';
/** Lets the embedded backbone and PyTorch do the same work in turns. */

import { createRandom, type Sample, type TrainBatch } from '@agentjet/core';
import { packTrees } from '@agentjet/trainer';
import { median, type BenchOptions } from '../bench.js';
import { refuseSpread } from '../measure-noise.js';
import type { Cost, TorchProcess } from './torch-process.js';

/** One workload for the embedded backbone, and the command that makes PyTorch run the same workload. */
export type Contest = {
  readonly label: string;
  readonly tokens: number;
  readonly ours: (turn: number) => Promise<Cost>;
  readonly torch: { readonly op: string; readonly [key: string]: unknown };
};

export type Outcome = {
  readonly ours_tokens_per_second: number;
  readonly torch_tokens_per_second: number | null;
  readonly ratio: number | null;
  readonly cpu_ratio: number | null;
};

const noTorch: Cost = { wall: NaN, cpu: NaN };

/** Lets both run in turns. The first turn of each is a warm-up and does not count. */
export async function playContest(
  { tokens, ours, torch: command }: Contest,
  torch: TorchProcess | null,
  { rounds, waitUntilQuiet }: { readonly rounds: number } & Pick<BenchOptions, 'waitUntilQuiet'>,
): Promise<Outcome> {
  const turns: { readonly ours: Cost; readonly torch: Cost }[] = [];
  for (let turn = 0; turn <= rounds; turn += 1) {
    await waitUntilQuiet();
    const played = { ours: await ours(turn), torch: (await torch?.measure(command)) ?? noTorch };
    if (turn > 0) turns.push(played);
  }
  if (torch !== null) refuseSpread(turns.map((turn) => turn.torch.wall / turn.ours.wall));
  const speedOf = (side: 'ours' | 'torch'): number => Math.round(tokens / median(turns.map((turn) => turn[side].wall)));
  const ratioOf = (cost: keyof Cost): number | null =>
    torch === null ? null : Number(median(turns.map((turn) => turn.torch[cost] / turn.ours[cost])).toFixed(3));
  return {
    ours_tokens_per_second: speedOf('ours'),
    torch_tokens_per_second: torch === null ? null : speedOf('torch'),
    ratio: ratioOf('wall'),
    cpu_ratio: ratioOf('cpu'),
  };
}

export function randomIds(length: number, seed: number, vocabSize: number): Int32Array {
  const random = createRandom(seed);
  return Int32Array.from({ length }, () => random.int(vocabSize));
}

export async function costOf(work: () => Promise<void>): Promise<Cost> {
  const [start, cpuStart] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(cpuStart);
  return { wall: (performance.now() - start) / 1000, cpu: (user + system) / 1e6 };
}

export async function inTurn<Item, Result>(
  items: readonly Item[],
  use: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await use(item));
  return results;
}

type BatchShape = { readonly rows: number; readonly length: number; readonly vocabSize: number };

/** Returns rows that share nothing, in which every token after the first is trained. */
export function randomBatch({ rows, length, vocabSize }: BatchShape): TrainBatch {
  const uniform = -Math.log(vocabSize);
  const samples = Array.from({ length: rows }, (_, row): Sample => {
    const after = (value: number): number[] => Array.from({ length }, (_unused, token) => (token === 0 ? 0 : value));
    return {
      episodeId: `episode-${row}`,
      agentName: 'agent',
      targetTag: 'agent',
      ids: randomIds(length, row, vocabSize),
      lossMask: Uint8Array.from(after(1)),
      logprobs: Float32Array.from(after(uniform)),
      policyVersions: Int32Array.from(after(0)),
      advantages: Float32Array.from(after(1)),
    };
  });
  return {
    packs: packTrees(samples, { maxPackTokens: rows * length }).packs,
    loss: { ...plainLoss, dualClip: 0 },
  };
}
