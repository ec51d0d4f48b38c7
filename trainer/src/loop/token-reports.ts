import type { Sample, TermReport, TreePack } from '@agentjet/core';

/**
 * The values that one optimizer step computed for the tokens of one sample. Arrays have shape [T]. Values are 0 if
 * `isTrained` is 0.
 */
export type TokenReport = {
  readonly episodeId: string;
  readonly agentName: string;
  /** 1 if the token was a term of the step's loss in this sample. */
  readonly isTrained: Uint8Array;
  /** Training logprobs before the update, at the token's temperature. */
  readonly logprobs: Float32Array;
  /**
   * Entropy, in nats, of the distribution that the token was drawn from. Null if the backbone does not see
   * distributions.
   */
  readonly entropies: Float32Array | null;
  /** exp(training logprob - behaviour logprob). */
  readonly ratios: Float32Array;
  /** 1 if the clip took the token's gradient away. */
  readonly clipped: Uint8Array;
};

/**
 * Returns one report per sample, in order. `reports` has one entry per pack; a pack's `terms.sequence` is the sample's
 * index.
 */
export function toTokenReports(
  samples: readonly Sample[],
  packs: readonly TreePack[],
  reports: readonly TermReport[],
): TokenReport[] {
  const hasEntropies = reports.every(({ entropies }) => entropies !== null);
  const found = samples.map((sample) => emptyReport(sample, hasEntropies));
  for (const [index, { terms, positions, predictors }] of packs.entries()) {
    const report = reports[index];
    for (const [term, pair] of terms.pair.entries()) {
      const into = found[terms.sequence[term] ?? 0];
      const position = (positions[predictors[pair] ?? 0] ?? 0) + 1;
      if (into === undefined || report === undefined) continue;
      into.isTrained[position] = 1;
      into.logprobs[position] = report.logprobs[term] ?? 0;
      into.ratios[position] = report.ratios[term] ?? 0;
      into.clipped[position] = report.clipped[term] ?? 0;
      if (into.entropies !== null) into.entropies[position] = report.entropies?.[term] ?? 0;
    }
  }
  return found;
}

function emptyReport({ episodeId, agentName, ids: { length } }: Sample, hasEntropies: boolean): TokenReport {
  return {
    episodeId,
    agentName,
    isTrained: new Uint8Array(length),
    logprobs: new Float32Array(length),
    entropies: hasEntropies ? new Float32Array(length) : null,
    ratios: new Float32Array(length),
    clipped: new Uint8Array(length),
  };
}
