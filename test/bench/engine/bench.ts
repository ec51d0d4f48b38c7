/**
 * How fast does the embedded backbone train and sample, compared with eager PyTorch on the same CPU? Each runs in one
 * process, with the same shapes, the same number of threads, and float32. They take turns, and the figure is the median
 * of the ratios of neighbouring turns. The embedded backbone is measured through its public interface, which includes
 * its worker thread, scheduler, sampler and messages. The benchmark refuses a busy machine, because PyTorch's threads
 * spin and then take several times as long. Ratios of processor time are kept too.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { createRandom } from '@agentjet/core';
import type { Backbone, Sample, TrainBatch } from '@agentjet/core';
import { createOnnxBackbone, packTrees } from '@agentjet/trainer';
import { adamOptions, writeRandomModelFolder } from '@agentjet/trainer/testing';
import { median, numberOption } from '../bench.js';
import { refuseSpread } from '../measure-noise.js';
import type { BenchOptions, BenchResult } from '../bench.js';
import { configOf, sizes } from './shapes.js';
import type { Size } from './shapes.js';
import { startTorch } from './torch-process.js';
import type { Cost, TorchProcess } from './torch-process.js';

const trainRows = 16;
const trainLength = 128;
const promptLength = 32;
const newTokens = 128;
const concurrencies = [1, 8, 32, 64] as const;
const decodeSize: Size = '4.8M';
const optimizer = adamOptions(1e-5, { weightDecay: 0.01, maxGradNorm: 1 });

/** One workload for the embedded backbone, and the command that makes PyTorch run the same workload. */
type Contest = {
  readonly label: string;
  readonly tokens: number;
  readonly ours: (turn: number) => Promise<Cost>;
  readonly torch: { readonly op: string; readonly [key: string]: unknown };
};

type Outcome = {
  readonly ours_tokens_per_second: number;
  readonly torch_tokens_per_second: number | null;
  readonly ratio: number | null;
  readonly cpu_ratio: number | null;
};

export const wallTimeOf = 'all cores';

export async function run({ report, args, waitUntilQuiet }: BenchOptions): Promise<BenchResult> {
  const rounds = numberOption(args, '--rounds', 7);
  const threads = numberOption(args, '--threads', availableParallelism());
  const torch = await startTorch(threads);
  report(
    torch === null
      ? 'No Python with PyTorch was found (AJET_TORCH_PYTHON, trainer/torch/.venv, python3): ours is measured alone.'
      : `PyTorch ${torch.version}, ${threads} threads`,
  );
  const dir = await mkdtemp(path.join(tmpdir(), 'agentjet-bench-'));
  try {
    const play = (size: Size, contests: (backbone: Backbone) => readonly Contest[]) =>
      playAll({ size, dir, threads, rounds, torch, report, waitUntilQuiet }, contests);
    const train = Object.assign(
      {},
      ...(await inTurn(sizes, (size) => play(size, (backbone) => [trainContest(size, backbone)]))),
    ) as Outcomes;
    const decode = await play(decodeSize, (backbone) =>
      concurrencies.map((concurrency) => decodeContest(concurrency, backbone)),
    );
    return toResult(train, decode, { rounds, threads, torch: torch?.version ?? null });
  } finally {
    await torch?.close();
    await rm(dir, { recursive: true, force: true });
  }
}

type Outcomes = { readonly [label: string]: Outcome };
type Setting = {
  readonly size: Size;
  readonly dir: string;
  readonly threads: number;
  readonly rounds: number;
  readonly torch: TorchProcess | null;
  readonly report: (line: string) => void;
  readonly waitUntilQuiet: () => Promise<void>;
};

async function playAll(
  { size, dir, threads, rounds, torch, report, waitUntilQuiet }: Setting,
  contests: (backbone: Backbone) => readonly Contest[],
): Promise<Outcomes> {
  const modelDir = path.join(dir, size);
  await writeRandomModelFolder(modelDir, { configJson: configOf(size), seed: 1 });
  const backbone = await createOnnxBackbone({ modelDir, optimizer, threads });
  const outcomes = await inTurn(contests(backbone), async (contest) => {
    const outcome = await play(contest, torch, { rounds, waitUntilQuiet });
    report(describe(contest, outcome));
    return { [contest.label]: outcome };
  });
  await backbone.close();
  return Object.assign({}, ...outcomes) as Outcomes;
}

const noTorch: Cost = { wall: NaN, cpu: NaN };

/** Lets both run in turns. The first turn of each is a warm-up and does not count. */
async function play(
  { tokens, ours, torch: command }: Contest,
  torch: TorchProcess | null,
  { rounds, waitUntilQuiet }: Pick<Setting, 'rounds' | 'waitUntilQuiet'>,
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

/** Makes one optimizer step over 16 rows of 128 tokens that share nothing. */
function trainContest(size: Size, backbone: Backbone): Contest {
  const steps = size === '19M' ? 1 : 3;
  const batch = randomBatch(Number(configOf(size)['vocab_size']));
  const command = { op: 'train', config: configOf(size), rows: trainRows, length: trainLength, steps };
  const ours = () =>
    costOf(async () => {
      for (let step = 0; step < steps; step += 1) await backbone.trainStep(batch);
    });
  return { label: size, tokens: steps * trainRows * trainLength, ours, torch: command };
}

/** Makes that many calls at once with prompts of 32 tokens that share nothing, and samples 128 tokens each. */
function decodeContest(concurrency: number, backbone: Backbone): Contest {
  const command = {
    op: 'decode',
    config: configOf(decodeSize),
    rows: concurrency,
    prompt: promptLength,
    tokens: newTokens,
  };
  const ours = (turn: number) =>
    costOf(async () => {
      const calls = Array.from({ length: concurrency }, (_, index) => generate(backbone, turn * 1000 + index));
      const completions = await Promise.all(calls);
      if (completions.some(({ ids }) => ids.length !== newTokens)) throw new Error('A completion ended early.');
    });
  return { label: String(concurrency), tokens: concurrency * newTokens, ours, torch: command };
}

function generate(backbone: Backbone, seed: number) {
  const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: newTokens, stopIds: [], seed };
  return backbone.engine.generate({
    promptIds: randomIds(promptLength, seed, Number(configOf(decodeSize)['vocab_size'])),
    sampling,
  });
}

function randomBatch(vocabSize: number): TrainBatch {
  const uniform = -Math.log(vocabSize);
  const samples = Array.from({ length: trainRows }, (_, row): Sample => {
    const behind = (value: number): number[] =>
      Array.from({ length: trainLength }, (_unused, token) => (token === 0 ? 0 : value));
    return {
      episodeId: `episode-${row}`,
      agentName: 'agent',
      targetTag: 'agent',
      ids: randomIds(trainLength, row, vocabSize),
      lossMask: Uint8Array.from(behind(1)),
      logprobs: Float32Array.from(behind(uniform)),
      policyVersions: Int32Array.from(behind(0)),
      advantages: Float32Array.from(behind(1)),
    };
  });
  return {
    packs: packTrees(samples, { maxPackTokens: trainRows * trainLength }).packs,
    loss: {
      kind: 'policy',
      clipLow: 0.2,
      clipHigh: 0.2,
      dualClip: 0,
      klCoef: 0,
      klEstimator: 'k3',
      entropyCoef: 0,
      temperature: 1,
    },
  };
}

function randomIds(length: number, seed: number, vocabSize: number): Int32Array {
  const random = createRandom(seed);
  return Int32Array.from({ length }, () => random.int(vocabSize));
}

async function costOf(work: () => Promise<void>): Promise<Cost> {
  const [start, cpuStart] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(cpuStart);
  return { wall: (performance.now() - start) / 1000, cpu: (user + system) / 1e6 };
}

async function inTurn<Item, Result>(items: readonly Item[], use: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await use(item));
  return results;
}

function describe(
  { label, torch: { op } }: Contest,
  { ours_tokens_per_second: ours, torch_tokens_per_second: torch, ratio, cpu_ratio: cpuRatio }: Outcome,
): string {
  const what = op === 'train' ? `train ${label}` : `decode ${decodeSize}, ${label} at once`;
  return `${what}: ${ours} tokens/s${torch === null ? '' : `, PyTorch ${torch}, ratio ${ratio} (processor time ${cpuRatio})`}`;
}

function toResult(
  train: Outcomes,
  decode: Outcomes,
  workload: { readonly rounds: number; readonly threads: number; readonly torch: string | null },
): BenchResult {
  const ratios = (outcomes: Outcomes) =>
    Object.fromEntries(Object.entries(outcomes).map(([label, { ratio }]) => [label, ratio]));
  return {
    summary: { train_vs_torch: ratios(train), decode_vs_torch: ratios(decode) },
    details: {
      ...workload,
      workload: {
        train_rows: trainRows,
        train_length: trainLength,
        prompt_length: promptLength,
        new_tokens: newTokens,
        decode_size: decodeSize,
      },
      train,
      decode,
    },
  };
}
