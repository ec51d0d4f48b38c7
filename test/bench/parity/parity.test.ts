import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import goldenQwen3 from './golden-qwen3.json' with { type: 'json' };
import golden from './golden.json' with { type: 'json' };
import { run } from './bench.js';
import {
  ask,
  backbones,
  createQuestion,
  inScratchFolder,
  python,
  readGradientNorms,
  writeTinyModel,
} from './question.js';

test.each([
  ['qwen2', golden],
  ['qwen3', goldenQwen3],
] as const)(
  'the embedded backbone says what plain transformers said to a random %s: logits, gradients, ten steps',
  (family, expected) =>
    inScratchFolder(async (dir) => {
      const modelDir = await writeTinyModel(path.join(dir, 'tiny'), family);
      const { probes, losses } = await ask(backbones.onnx, await createQuestion(modelDir), path.join(dir, 'gradient'));
      const norms = await readGradientNorms(modelDir, path.join(dir, 'gradient'));
      const goldenNorms: Readonly<Record<string, number>> = expected.gradient_norms;
      expect(probes).toHaveLength(expected.probes.length);
      for (const [index, row] of probes.entries())
        expect(Math.abs((row.at(-1) ?? Number.NaN) - (expected.probes[index] ?? Number.NaN))).toBeLessThan(1e-4);
      expect(Object.keys(norms).sort()).toEqual(Object.keys(goldenNorms).sort());
      const largest = Math.max(...Object.values(goldenNorms));
      for (const [name, norm] of Object.entries(goldenNorms))
        expect(Math.abs((norms[name] ?? Number.NaN) - norm) / largest, name).toBeLessThan(1e-4);
      for (const [step, loss] of expected.losses.entries())
        expect(Math.abs((losses[step] ?? Number.NaN) / loss - 1)).toBeLessThan(1e-3);
    }),
);

if (!existsSync(python))
  console.warn(
    'Skipped the parity of onnx, torch and transformers: trainer/torch/.venv does not exist. Run "npm run setup:torch" (it needs Python 3.10 or later).',
  );

/** This test takes minutes, so it is part of `.ci/run` and of `.ci/nightly engines`, and not of every `npm test`. */
const isAsked = process.env['AJET_LONG_TESTS'] === '1';
if (existsSync(python) && !isAsked)
  console.warn(
    'Skipped the parity of onnx, torch and transformers, which takes minutes: AJET_LONG_TESTS=1 asks for it.',
  );

test.skipIf(!existsSync(python) || !isAsked)(
  'onnx, torch and plain transformers compute the same on the nano model',
  { timeout: 900_000 },
  async () => {
    const { summary } = await run({ args: [], report: () => undefined, waitUntilQuiet: async () => undefined });
    expect(summary['logits_max_abs']).toBeLessThan(1e-4);
    expect(summary['gradient_relative']).toBeLessThan(1e-4);
    expect(summary['loss_relative_10_steps']).toBeLessThan(1e-3);
  },
);
