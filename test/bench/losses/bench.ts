/**
 * Does a backbone train with the gradient that the source of a loss defines? Each case in trainer/src/testing/losses/cases
 * writes a loss as its source does. The gradient of the case is computed in double precision on a small model whose
 * samples share tokens. It is compared with the gradient of the backbone. The result is the relative error, which is at
 * most 1e-4 in single precision. A new file in that folder is measured too. `distill` compares the gradient of a student
 * with that of the reverse KL to its teacher.
 *
 * The gradients of `torch` (on the CPU) and `tinker` (the client of a server over the embedded backbone) are read from
 * the weights before and after a step. `skipped` says which backbone is not on this machine.
 */

import {
  lossSubjects,
  measureDistillation,
  measureLossCase,
  measureLossOn,
  readLossCases,
  type LossCase,
} from '@agentjet/trainer/testing';
import type { BenchOptions, BenchResult } from '../bench.js';

const ofDistill =
  'Agarwal et al. 2024, "On-Policy Distillation of Language Models": the gradient of the reverse KL, over all answers of two tokens';

type Errors = Readonly<Record<string, number>>;

export async function run({ report }: BenchOptions): Promise<BenchResult> {
  const cases = await readLossCases();
  const columns: Record<string, Errors> = {
    onnx: { ...(await measureAll(cases, measureLossCase)), distill: await measureDistillation() },
  };
  const skipped: Record<string, string> = {};
  for (const { name, missing, open } of lossSubjects) {
    if (missing !== undefined) {
      skipped[name] = missing;
      continue;
    }
    const subject = await open();
    try {
      const errors = await measureAll(cases, (lossCase) => measureLossOn(lossCase, subject));
      columns[name] = { ...errors, distill: await measureDistillation(subject) };
    } finally {
      await subject.close();
    }
  }
  const sources = { ...Object.fromEntries(cases.map(({ name, source }) => [name, source])), distill: ofDistill };
  const rows = Object.keys(sources).map((name) => {
    const backbones = Object.entries(columns).map(
      ([backbone, errors]) => [backbone, errors[name] ?? Number.NaN] as const,
    );
    report(
      `${name.padEnd(14)} ${backbones.map(([backbone, error]) => `${backbone} ${error.toExponential(2)}`).join('  ')}`,
    );
    return [name, { backbones: Object.fromEntries(backbones) }] as const;
  });
  for (const [name, why] of Object.entries(skipped)) report(`${name}: not measured: ${why}`);
  return {
    summary: Object.fromEntries(rows),
    details: { sources, ...(Object.keys(skipped).length > 0 && { skipped }) },
  };
}

async function measureAll(
  cases: readonly LossCase[],
  measure: (lossCase: LossCase) => Promise<number>,
): Promise<Errors> {
  const errors: Record<string, number> = {};
  for (const lossCase of cases) errors[lossCase.name] = await measure(lossCase);
  return errors;
}
