/**
 * Does a backbone train with the gradient that the source of a loss defines? Each case in trainer/src/losses/cases
 * writes a loss as its source does. The gradient of the case is computed in double precision on a small model whose
 * samples share tokens. It is compared with the gradient of the backbone. The result is the relative error, which is at
 * most 1e-4 in single precision. A new file in that folder is measured too.
 */

import { measureLossCase, readLossCases } from '@agentjet/trainer/testing';
import type { BenchOptions, BenchResult } from '../bench.js';

export async function run({ report }: BenchOptions): Promise<BenchResult> {
  const cases = await readLossCases();
  const rows: [string, { readonly backbones: Readonly<Record<string, number>> }][] = [];
  for (const lossCase of cases) {
    const onnx = await measureLossCase(lossCase);
    report(`${lossCase.name.padEnd(14)} onnx ${onnx.toExponential(2)}`);
    rows.push([lossCase.name, { backbones: { onnx } }]);
  }
  const sources = Object.fromEntries(cases.map(({ name, source }) => [name, source]));
  return { summary: Object.fromEntries(rows), details: { sources } };
}
