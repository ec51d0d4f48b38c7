/**
 * Do the embedded engine, the GPU worker and plain transformers compute the same logits, gradients and ten steps? It
 * uses the nano model. With `--tiny` it uses a random model instead. With `--write-golden` it writes the answers of
 * transformers for that model to golden.json.
 */

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { nanoModelDir } from '@agentjet/nano';
import type { BenchOptions, BenchResult, OptionTexts } from '../bench.js';
import {
  ask,
  backbones,
  createQuestion,
  goldenGradient,
  gradientScale,
  inScratchFolder,
  learningRate,
  python,
  writeTinyModel,
  type Answer,
  type Question,
} from './question.js';

const script = path.resolve(import.meta.dirname, '../../../trainer/torch/bench/parity.py');
const goldenFiles = {
  qwen2: path.join(import.meta.dirname, 'golden.json'),
  qwen3: path.join(import.meta.dirname, 'golden-qwen3.json'),
};

/**
 * The answers of plain transformers. `gradients` has the relative distance of each backbone's gradient from that of
 * transformers.
 */
type Oracle = Answer & {
  readonly gradients: Readonly<Record<string, number>>;
  readonly gradient_norms: Readonly<Record<string, number>>;
  readonly versions: Readonly<Record<string, string>>;
};

export const optionTexts: OptionTexts = {
  '--tiny': 'uses a random model',
  '--qwen3': 'uses the shape of Qwen3',
  '--write-golden': 'writes the answers of transformers for the random model',
};

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  if (!existsSync(python))
    throw new Error(`There is no Python with PyTorch at ${python}. Run "npm run setup:torch" first.`);
  const isGolden = args.includes('--write-golden');
  const isTiny = isGolden || args.includes('--tiny');
  const family = args.includes('--qwen3') ? 'qwen3' : 'qwen2';
  return inScratchFolder(async (dir) => {
    const question = await createQuestion(isTiny ? await writeTinyModel(path.join(dir, 'tiny'), family) : nanoModelDir);
    const answers: Record<string, Answer> = {};
    for (const [name, create] of Object.entries(backbones)) {
      report(`${name}: logits, gradient, ten steps`);
      answers[name] = await ask(create, question, path.join(dir, name));
    }
    report('transformers: the same');
    const oracle = await askTransformers(dir, question);
    if (isGolden && family === 'qwen2') await copyFile(path.join(dir, 'gradient.safetensors'), goldenGradient);
    if (isGolden) await writeFile(goldenFiles[family], toGolden(oracle, family));
    return summarize(isTiny ? 'tiny random Qwen2' : 'nano', answers, oracle);
  });
}

async function askTransformers(dir: string, { modelDir, probes, rows }: Question): Promise<Oracle> {
  await writeFile(
    path.join(dir, 'question.json'),
    JSON.stringify({
      model_dir: modelDir,
      probes,
      rows,
      learning_rate: learningRate,
      gradient_scale: gradientScale,
      backbones: Object.keys(backbones),
    }),
  );
  const told = execFileSync(python, [script, dir], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, HF_HUB_OFFLINE: '1' },
  });
  return JSON.parse(told) as Oracle;
}

function toGolden({ probes, losses, gradient_norms, versions }: Oracle, family: 'qwen2' | 'qwen3'): string {
  const flag = family === 'qwen3' ? ' --qwen3' : '';
  return `${JSON.stringify({ made_by: `npm run bench -- parity --write-golden${flag}`, model: `tiny random ${family === 'qwen3' ? 'Qwen3' : 'Qwen2'}, seed 3`, versions, losses, gradient_norms, probes: probes.map((row) => row.at(-1)) }, null, 1)}\n`;
}

function summarize(model: string, answers: Readonly<Record<string, Answer>>, oracle: Oracle): BenchResult {
  const each = Object.entries(answers);
  const logits = each.map(
    ([name, { probes }]) =>
      [
        name,
        largest(probes.flat().map((value, index) => Math.abs(value - (oracle.probes.flat()[index] ?? Number.NaN)))),
      ] as const,
  );
  const losses = each.map(
    ([name, answer]) =>
      [
        name,
        largest(answer.losses.map((loss, step) => Math.abs(loss / (oracle.losses[step] ?? Number.NaN) - 1))),
      ] as const,
  );
  const summary = {
    logits_max_abs: largest(logits.map(([, value]) => value)),
    gradient_relative: largest(Object.values(oracle.gradients)),
    loss_relative_10_steps: largest(losses.map(([, value]) => value)),
  };
  return {
    summary,
    details: {
      model,
      versions: oracle.versions,
      logits: Object.fromEntries(logits),
      gradients: oracle.gradients,
      losses: Object.fromEntries(losses),
      transformers_losses: oracle.losses,
    },
  };
}

/** Returns the largest value, or NaN if any value is NaN. */
function largest(values: readonly number[]): number {
  return values.reduce((found, value) => (Number.isNaN(value) || value > found ? value : found), 0);
}
