import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import golden from './golden.json' with { type: 'json' };
import { run } from './bench.js';

const python = process.env['AJET_TORCH_PYTHON'] ?? path.resolve(import.meta.dirname, '../../../trainer/torch/.venv/bin/python');

test.skipIf(!existsSync(python))('onnx, torch and plain transformers compute the same logits, gradients and ten steps', { timeout: 900_000 }, async () => {
  const { summary, details } = await run({ args: ['--tiny'], report: () => undefined });
  expect(summary['logits_max_abs']).toBeLessThan(1e-4);
  expect(summary['gradient_relative']).toBeLessThan(1e-4);
  expect(summary['loss_relative_10_steps']).toBeLessThan(1e-3);
  for (const [step, loss] of (details['transformers_losses'] as readonly number[]).entries()) expect(loss / (golden.losses[step] ?? 0)).toBeCloseTo(1, 4);
});
