/**
 * Does every backbone that runs on a CPU compute the same, and does a run learn with it? On a random model of a few
 * thousand weights it compares logprobs, and the gradient of one batch, with those of plain transformers
 * (../parity/golden.json and golden-gradient.safetensors). On the nano model it trains the frozen-lake tutorial for ten
 * steps.
 */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { nanoModelDir } from '@agentjet/nano';
import { adamOptions } from '@agentjet/trainer/testing';
import { listOption, numberOption, type BenchOptions, type BenchResult, type OptionTexts } from '../bench.js';
import { readTree } from '../keep-result.js';
import golden from '../parity/golden.json' with { type: 'json' };
import {
  ask,
  createQuestion,
  inScratchFolder,
  readGoldenGradient,
  readGradient,
  writeTinyModel,
} from '../parity/question.js';
import { subjects, type OpenOptions, type Subject } from './subjects.js';
import { lakeContextLength, lakeLearningRate, trainLake, type LakeResult } from './train-lake.js';

type Row =
  | {
      readonly logprobs_max_abs: number;
      readonly gradient_relative: number;
      readonly lake_success_10_steps: number;
    }
  | { readonly skipped: string };

type Opened = Extract<Subject, { readonly open: unknown }>;

const tinyContextLength = 64;

export const optionTexts: OptionTexts = {
  '--steps <n>': 'steps of the frozen lake; default 10',
  '--only <backbone>,...': 'measures some backbones',
};

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const steps = numberOption(args, '--steps', 10);
  const known = subjects();
  const only = listOption(
    args,
    '--only',
    known.map(({ name }) => name),
  );
  const text = await readFile(path.join(import.meta.dirname, '../results/backbones.json'), 'utf8').catch(() => '{}');
  const isPart = only.length < known.length;
  const { rows, seconds } = isPart ? othersOf(text, { commit: readTree(import.meta.dirname).commit, steps }) : noRows();
  for (const subject of known.filter(({ name }) => only.includes(name))) {
    if ('skipped' in subject) {
      report(`${subject.name}: skipped (${subject.skipped})`);
      rows[subject.name] = { skipped: subject.skipped };
      continue;
    }
    report(`${subject.name}: logprobs and gradient`);
    const exact = await compareWithGolden(subject);
    report(`${subject.name}: ${steps} steps of the frozen lake`);
    const lake = await learnLake(subject, steps);
    rows[subject.name] = { ...exact, lake_success_10_steps: lake.successAfter };
    seconds[subject.name] = lake.secondsPerStep;
    report(`${subject.name}: ${JSON.stringify(rows[subject.name])}`);
  }
  return { summary: rows, details: { golden: golden.made_by, lake_steps: steps, lake_seconds_per_step: seconds } };
}

type Rows = { readonly rows: Record<string, Row>; readonly seconds: Record<string, number> };

const noRows = (): Rows => ({ rows: {}, seconds: {} });

/**
 * Returns the kept results of the other backbones at the same commit. `--only` starts from them, so that backbones can
 * be measured one after another.
 */
export function othersOf(kept: string, at: { readonly commit: string | null; readonly steps: number }): Rows {
  const found = JSON.parse(kept) as Record<string, unknown>;
  if (at.commit === null || found['commit'] !== at.commit || found['lake_steps'] !== at.steps) return noRows();
  const names = subjects().map(({ name }) => name);
  const rows = Object.fromEntries(names.flatMap((name) => (name in found ? [[name, found[name] as Row]] : [])));
  return { rows, seconds: { ...(found['lake_seconds_per_step'] as Rows['seconds']) } };
}

/**
 * Returns logprobs of the probes, and the relative distance of the whole gradient (Euclidean) from that of plain
 * transformers.
 */
export async function compareWithGolden({
  open,
}: Opened): Promise<{ readonly logprobs_max_abs: number; readonly gradient_relative: number }> {
  return inScratchFolder(async (dir) => {
    const modelDir = await writeTinyModel(path.join(dir, 'tiny'));
    const create = (folder: string, optimizer: OpenOptions['optimizer']) =>
      open({ modelDir: folder, optimizer, contextLength: tinyContextLength });
    const { probes } = await ask(create, await createQuestion(modelDir), path.join(dir, 'gradient'));
    const gaps = golden.probes.map((expected, index) => Math.abs((probes[index]?.at(-1) ?? Number.NaN) - expected));
    const found = await readGradient(modelDir, path.join(dir, 'gradient'));
    return { logprobs_max_abs: Math.max(...gaps), gradient_relative: distance(found, await readGoldenGradient()) };
  });
}

type Gradient = ReadonlyMap<string, Float64Array>;

function distance(found: Gradient, expected: Gradient): number {
  let [difference, size] = [0, 0];
  for (const [name, values] of expected)
    for (const [index, value] of values.entries()) {
      difference += (value - (found.get(name)?.[index] ?? Number.NaN)) ** 2;
      size += value ** 2;
    }
  return Math.sqrt(difference / size);
}

/** Trains the frozen-lake tutorial on the nano model. */
export async function learnLake({ open }: Opened, steps: number): Promise<LakeResult> {
  const experimentDir = await mkdtemp(path.join(tmpdir(), 'backbones-'));
  try {
    const backbone = await open({
      modelDir: nanoModelDir,
      optimizer: adamOptions(lakeLearningRate, { weightDecay: 0.01, maxGradNorm: 1 }),
      contextLength: lakeContextLength,
    });
    return await trainLake({ steps, experimentDir, backbone });
  } finally {
    await rm(experimentDir, { recursive: true, force: true });
  }
}
