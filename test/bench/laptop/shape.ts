import { freemem } from 'node:os';
import type { Backbone } from '@agentjet/core';
import { createOnnxBackbone } from '@agentjet/trainer';
import { adamOptions } from '@agentjet/trainer/testing';
import type { BenchOptions } from '../bench.js';
import { costOf, inTurn, playContest, randomBatch, randomIds, type Contest } from '../engine/contest.js';
import { startTorch, type TorchProcess } from '../engine/torch-process.js';
import { measurePeak, modelFolderOf } from '../memory/bench.js';
import { createCase, shapes } from '../memory/memory-cases.js';

type ShapeName = keyof typeof shapes;

export const shapeNames = Object.keys(shapes) as readonly ShapeName[];

type Options = Pick<BenchOptions, 'report' | 'waitUntilQuiet'> & { readonly rounds: number; readonly threads: number };

const optimizer = adamOptions(1e-5, { weightDecay: 0.01, maxGradNorm: 1 });
const lora = { rank: 16 };
const [trainRows, trainLength] = [2, 512];
const [promptLength, newTokens] = [32, 64];
/** PyTorch's full step of 0.5B takes 12.4 GB, and ours more than 17. */
const memoryOf: Readonly<Record<ShapeName, { readonly full: number; readonly lora: number }>> = {
  '30M': { full: 4, lora: 4 },
  '135M': { full: 10, lora: 8 },
  '0.5B': { full: 32, lora: 20 },
};

/** The parts of a shape that can be measured in separate runs. */
export const shapeParts = ['decode', 'full', 'lora', 'peaks'] as const;

export type ShapePart = (typeof shapeParts)[number];

const measures: { readonly [Part in ShapePart]: (subject: Subject) => Promise<Fields> } = {
  decode: async (subject) => ({
    open_s: await measureOpening(subject),
    decode_vs_torch: await measureDecoding(subject),
  }),
  full: async (subject) => ({ train_vs_torch: { full: await measureTraining(subject, 'full') } }),
  lora: async (subject) => ({ train_vs_torch: { lora: await measureTraining(subject, 'lora') } }),
  peaks: async (subject) => ({ peak_gb: await measurePeaks(subject) }),
};

export async function measureShape(
  name: ShapeName,
  parts: readonly ShapePart[],
  options: Options,
): Promise<Record<string, unknown>> {
  // The reference in PyTorch has biases and tied embeddings, as Qwen2 has.
  const shape = shapes[name];
  const head = shape.hidden_size / shape.num_attention_heads;
  const config = { ...shape, model_type: 'qwen2', head_dim: head };
  const folder = await modelFolderOf({ name: `bench-${name}`, shape: config });
  const measured = await inTurn(parts, (part) => measures[part]({ name, config, folder, options }));
  return joinShapes(measured);
}

/** Joins values of one shape that have some parts each. Throws Error if two have the same figure. */
export function joinShapes(values: readonly Fields[]): Record<string, unknown> {
  const joined: Record<string, unknown> = {};
  for (const [key, value] of values.flatMap((each) => Object.entries(each))) {
    const known = joined[key];
    if (known !== undefined && !(isFields(known) && isFields(value)))
      throw new Error(`Two files have the figure ${key} of one shape. Join one of them.`);
    joined[key] = isFields(known) && isFields(value) ? joinShapes([known, value]) : value;
  }
  return joined;
}

type Fields = { readonly [key: string]: unknown };

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

async function measureOpening({ config, folder }: Subject): Promise<number> {
  const startedAt = performance.now();
  const opened = await createOnnxBackbone({ modelDir: folder, optimizer, lora, frozenWeights: 'int8' });
  await ask(opened, { seed: 0, vocabSize: config.vocab_size, numTokens: 1 });
  const seconds = (performance.now() - startedAt) / 1000;
  await opened.close();
  return Number(seconds.toFixed(2));
}

type Subject = {
  readonly name: ShapeName;
  readonly config: (typeof shapes)[ShapeName] & { readonly head_dim: number };
  readonly folder: string;
  readonly options: Options;
};

type Call = { readonly seed: number; readonly vocabSize: number; readonly numTokens: number };

async function ask(backbone: Backbone, { seed, vocabSize, numTokens }: Call): Promise<void> {
  const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: numTokens, stopIds: [], seed };
  await backbone.engine.generate({ promptIds: randomIds(promptLength, seed, vocabSize), sampling });
}

async function openTorch(threads: number): Promise<TorchProcess> {
  const torch = await startTorch(threads);
  if (torch !== null) return torch;
  throw new Error('No Python with PyTorch was found. Set AJET_TORCH_PYTHON, or run `npm run setup:torch`.');
}

/** Calls of the model in int8 with an adapter, against PyTorch in float32 without one. */
async function measureDecoding({ config, folder, options }: Subject): Promise<Readonly<Record<string, number | null>>> {
  const backbone = await createOnnxBackbone({ modelDir: folder, optimizer, lora, frozenWeights: 'int8' });
  const torch = await openTorch(options.threads);
  try {
    const ratios = await inTurn([1, 8, 32], async (atOnce) => {
      const contest: Contest = {
        label: String(atOnce),
        tokens: atOnce * newTokens,
        ours: (turn) =>
          costOf(async () => {
            const call = { vocabSize: config.vocab_size, numTokens: newTokens };
            await Promise.all(
              Array.from({ length: atOnce }, (_, index) => ask(backbone, { ...call, seed: turn * 1000 + index })),
            );
          }),
        torch: { op: 'decode', config, rows: atOnce, prompt: promptLength, tokens: newTokens },
      };
      const outcome = await playContest(contest, torch, options);
      options.report(`decode, ${atOnce} at once: ${JSON.stringify(outcome)}`);
      return [atOnce, outcome.ratio] as const;
    });
    return Object.fromEntries(ratios);
  } finally {
    await backbone.close();
    await torch.close();
  }
}

/** A step over 2 rows of 512 tokens. PyTorch trains all weights in both cases. */
async function measureTraining(
  { name, config, folder, options }: Subject,
  kind: 'full' | 'lora',
): Promise<number | null> {
  if (!hasMemory(name, kind, options)) return null;
  const adapted = kind === 'lora' ? ({ lora, frozenWeights: 'int8' } as const) : {};
  const backbone = await createOnnxBackbone({ modelDir: folder, optimizer, ...adapted });
  const torch = await openTorch(options.threads);
  try {
    const batch = randomBatch({ rows: trainRows, length: trainLength, vocabSize: config.vocab_size });
    const outcome = await playContest(
      {
        label: kind,
        tokens: trainRows * trainLength,
        ours: () => costOf(async () => void (await backbone.trainStep(batch))),
        torch: { op: 'train', config, rows: trainRows, length: trainLength, steps: 1 },
      },
      torch,
      options,
    );
    options.report(`train ${kind}: ${JSON.stringify(outcome)}`);
    return outcome.ratio;
  } finally {
    await backbone.close();
    await torch.close();
  }
}

function hasMemory(name: ShapeName, kind: 'full' | 'lora', { report }: Options): boolean {
  if (freemem() > memoryOf[name][kind] * 1e9) return true;
  report(`${name} ${kind}: left out, because it needs ${memoryOf[name][kind]} GB of free memory`);
  return false;
}

/** The peaks of processes that sample 32 calls, or sample and train 3 groups of 8 answers of 107 tokens to prompts of 512. */
async function measurePeaks({
  name,
  config,
  folder,
  options,
}: Subject): Promise<Readonly<Record<string, number | null>>> {
  const inGb = (bytes: number): number => Number((bytes / 1e9).toFixed(2));
  const groups = [3, 8, 512, 107, 4] as const;
  const cases = {
    sampling: createCase(name, [4, 8, 512, 16, 16], { shape: config, trains: false, format: 'int8' }),
    lora: createCase(name, groups, { shape: config, loraRank: lora.rank, format: 'int8', hasSmallTrees: false }),
    full: createCase(name, groups, { shape: config, hasSmallTrees: false }),
  };
  return Object.fromEntries(
    Object.entries(cases).map(([kind, memoryCase]) =>
      kind === 'full' && !hasMemory(name, 'full', options)
        ? [kind, null]
        : [kind, inGb(measurePeak(memoryCase, folder))],
    ),
  );
}
