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
import type { Backbone } from '@agentjet/core';
import { createOnnxBackbone } from '@agentjet/trainer';
import { adamOptions, writeRandomModelFolder } from '@agentjet/trainer/testing';
import { numberOption, type OptionTexts } from '../bench.js';
import type { BenchOptions, BenchResult } from '../bench.js';
import { costOf, inTurn, playContest, randomBatch, randomIds, type Contest, type Outcome } from './contest.js';
import { configOf, sizes } from './shapes.js';
import type { Size } from './shapes.js';
import { startTorch } from './torch-process.js';
import type { TorchProcess } from './torch-process.js';

const trainRows = 16;
const trainLength = 128;
const promptLength = 32;
const newTokens = 128;
const concurrencies = [1, 8, 32, 64] as const;
const decodeSize: Size = '4.8M';
const optimizer = adamOptions(1e-5, { weightDecay: 0.01, maxGradNorm: 1 });

export const wallTimeOf = 'all cores';

export const optionTexts: OptionTexts = { '--rounds <n>': 'default 7', '--threads <n>': 'default: all cores' };

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
    const outcome = await playContest(contest, torch, { rounds, waitUntilQuiet });
    report(describe(contest, outcome));
    return { [contest.label]: outcome };
  });
  await backbone.close();
  return Object.assign({}, ...outcomes) as Outcomes;
}

/** Makes one optimizer step over 16 rows of 128 tokens that share nothing. */
function trainContest(size: Size, backbone: Backbone): Contest {
  const steps = size === '19M' ? 1 : 3;
  const batch = randomBatch({ rows: trainRows, length: trainLength, vocabSize: Number(configOf(size)['vocab_size']) });
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
