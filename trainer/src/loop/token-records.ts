import type { Sample, TermReport, TreePack } from '@agentjet/core';
import type { AnnotationLine, SampleAnnotation, UpdateAnnotation } from '@agentjet/run-folder';

/** Writes down what the trainer computed for the tokens of an optimizer step, for people who compare it with the sampler. */

export type TokenRecording = {
  readonly mode: 'none' | 'changed' | 'all';
  /** Called if the backbone does not report single tokens. */
  readonly onMissing: () => void;
};

/** Tokens whose |training logprob - sampled logprob| is larger are kept by the mode `changed`. A ratio of 0.9 or 1.1 is as far from 1. */
export const gapLimit = 0.1;

/** Reports once that the backbone does not report single tokens. */
export function createTokenRecording(
  mode: TokenRecording['mode'],
  backbone: string,
  onNotice: (message: string) => void,
): TokenRecording {
  let isSaid = false;
  return {
    mode,
    onMissing: () => {
      if (!isSaid)
        onNotice(
          `The backbone ${backbone} does not report what it computes for single tokens, so trainer_common.record_tokens has no effect.`,
        );
      isSaid = true;
    },
  };
}

type Update = {
  readonly update: number;
  readonly mode: 'changed' | 'all';
  readonly samples: readonly Sample[];
  readonly packs: readonly TreePack[];
  readonly reports: readonly TermReport[];
};

/** Returns the totals of the optimizer step, and then the kept tokens of each sample. */
export function annotateTokens({ update, mode, samples, packs, reports }: Update): readonly AnnotationLine[] {
  const totals = { tokens: 0, kept: 0, clipped: 0, gap: 0, gapMax: 0, entropy: 0, entropies: 0 };
  const open = new Map<number, OpenSample>();
  packs.forEach((pack, index) => {
    const report = reports[index];
    if (report === undefined) return;
    report.logprobs.forEach((logprob, k) => {
      const gap = Math.abs(logprob - (pack.terms.logprobs[k] ?? 0));
      const isClipped = report.clipped[k] === 1;
      totals.tokens++;
      totals.gap += gap;
      totals.gapMax = Math.max(totals.gapMax, gap);
      if (isClipped) totals.clipped++;
      if (report.entropies !== null) totals.entropies++;
      totals.entropy += report.entropies?.[k] ?? 0;
      if (mode === 'changed' && gap <= gapLimit && !isClipped) return;
      totals.kept++;
      addToken(open, pack, { report, k });
    });
  });
  const { tokens, kept, clipped, gap, gapMax, entropy, entropies } = totals;
  const head: UpdateAnnotation = {
    update,
    mode,
    ...(mode === 'changed' && { gap_limit: gapLimit }),
    tokens,
    kept,
    clipped,
    gap_mean: shorten(gap / Math.max(1, tokens)),
    gap_max: shorten(gapMax),
    ...(entropies > 0 && { entropy_mean: shorten(entropy / entropies) }),
  };
  return [head, ...toLines(update, samples, open)];
}

type OpenSample = { readonly [Name in ListName]: number[] };
type ListName = 'positions' | 'logprobs' | 'entropies' | 'ratios' | 'importance' | 'weights' | 'clipped';

const emptyLists = (): OpenSample => ({
  positions: [],
  logprobs: [],
  entropies: [],
  ratios: [],
  importance: [],
  weights: [],
  clipped: [],
});

function addToken(
  open: Map<number, OpenSample>,
  { positions, predictors, terms }: TreePack,
  { report, k }: { readonly report: TermReport; readonly k: number },
): void {
  const row = terms.sequence[k] ?? 0;
  const lists = open.get(row) ?? emptyLists();
  open.set(row, lists);
  const predictor = predictors[terms.pair[k] ?? 0] ?? 0;
  lists.positions.push((positions[predictor] ?? 0) + 1);
  lists.logprobs.push(shorten(report.logprobs[k] ?? 0));
  if (report.entropies !== null) lists.entropies.push(shorten(report.entropies[k] ?? 0));
  lists.ratios.push(shorten(report.ratios[k] ?? 0));
  if (report.importance !== undefined) lists.importance.push(shorten(report.importance[k] ?? 0));
  lists.weights.push(shorten(terms.weights[k] ?? 0));
  lists.clipped.push(report.clipped[k] ?? 0);
}

function toLines(
  update: number,
  samples: readonly Sample[],
  open: ReadonlyMap<number, OpenSample>,
): readonly SampleAnnotation[] {
  const seen = new Map<string, number>();
  return samples.flatMap(({ episodeId }, row) => {
    const sample = seen.get(episodeId) ?? 0;
    seen.set(episodeId, sample + 1);
    const lists = open.get(row);
    if (lists === undefined) return [];
    const { entropies, importance, ...others } = lists;
    const known = { ...(entropies.length > 0 && { entropies }), ...(importance.length > 0 && { importance }) };
    return [{ update, episode_id: episodeId, sample, ...others, ...known }];
  });
}

/** Rounds to five digits. */
const shorten = (value: number): number => Number(value.toPrecision(5));
