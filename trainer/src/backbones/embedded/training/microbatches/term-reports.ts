import type { LossOptions, TermReport, TreePack } from '@agentjet/core';
import type { TrainingOutputs } from './graph-runner.js';
import type { MicrobatchArrays } from './microbatch-arrays.js';
import type { Microbatch } from './plan-microbatches.js';
import { isClipped } from './step-sums.js';

type OpenReport = TermReport & { readonly entropies: Float32Array };

/** Collects the results of a step at each term of each pack. */
export class TermReports {
  readonly #reports: ReadonlyMap<TreePack, OpenReport>;

  constructor(packs: readonly TreePack[]) {
    this.#reports = new Map(packs.map((pack) => [pack, emptyReport(pack.terms.pair.length)]));
  }

  /** There is one per pack, in order. */
  get reports(): readonly TermReport[] {
    return [...this.#reports.values()];
  }

  /** Adds the results of a micro-batch, whose terms are in the order of its trees. */
  add(
    { trees }: Microbatch,
    arrays: MicrobatchArrays,
    {
      outputs,
      loss,
    }: { readonly outputs: Pick<TrainingOutputs, 'logprobs' | 'entropies'>; readonly loss: LossOptions },
  ): void {
    let next = 0;
    for (const { tree } of trees) {
      const report = this.#reports.get(tree.pack);
      for (const term of tree.terms) {
        const at = next++;
        const pair = arrays.termPairs[at] ?? 0;
        const logprob = outputs.logprobs[pair] ?? 0;
        const isLeftOut = arrays.termsLeftOut[at] === 1;
        const ratio = isLeftOut ? 1 : Math.exp(logprob - (arrays.termLogprobs[at] ?? 0));
        if (report === undefined) continue;
        report.logprobs[term] = logprob;
        report.entropies[term] = outputs.entropies[arrays.pairRows[pair] ?? 0] ?? 0;
        report.ratios[term] = ratio;
        report.clipped[term] = isClipped(ratio, arrays.termAdvantages[at] ?? 0, loss) ? 1 : 0;
      }
    }
  }
}

function emptyReport(numTerms: number): OpenReport {
  return {
    logprobs: new Float32Array(numTerms),
    entropies: new Float32Array(numTerms),
    ratios: new Float32Array(numTerms),
    clipped: new Uint8Array(numTerms),
  };
}
