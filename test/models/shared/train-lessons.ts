import type { Backbone, Sample } from '@agentjet/core';
import { packTrees } from '@agentjet/trainer';
import { drawBatches, drawPasses } from './draw-batches.js';
import { drawCopies } from './draw-copies.js';
import type { LessonPlan } from './lesson-plan.js';
import { supervise } from './supervise.js';
import { endsAndMarks } from './tokenizer-files.js';

export type LessonReport = LessonPlan & {
  readonly rowTokens: number;
  readonly treeTokens: number;
  readonly seconds: number;
  /** Losses in nats per supervised token: of each step, of the first step, and the mean of the last twenty steps. */
  readonly losses: readonly number[];
  readonly firstLoss: number;
  readonly lastLoss: number;
};

/** Packs of this size share most of the common beginnings of one workflow's transcripts. */
const maxPackTokens = 1536;

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

type Draw = { readonly vocabSize: number; readonly seed: number };

/**
 * Returns the samples of a lesson. The copying lesson leaves out ends and marks, which are the last tokens of the
 * vocabulary.
 */
function drawSamples(
  lesson: LessonPlan['lesson'],
  transcripts: readonly Sample[],
  { vocabSize, seed }: Draw,
): Iterable<Sample> {
  return lesson === 'copying'
    ? drawCopies({ numTokens: vocabSize - endsAndMarks.length, seed })
    : drawPasses(transcripts, seed);
}

/**
 * Trains on one lesson by supervised fine-tuning, with the same packing and the same backbone as any run. `seed` draws
 * the copies, or the order of the transcripts.
 */
export async function trainLesson(
  backbone: Backbone,
  transcripts: readonly Sample[],
  plan: LessonPlan,
  draw: Draw,
): Promise<LessonReport> {
  const { lesson, numSteps, tokensPerStep } = plan;
  const startedAt = performance.now();
  const losses: number[] = [];
  let rowTokens = 0;
  let treeTokens = 0;
  for (const batch of drawBatches(drawSamples(lesson, transcripts, draw), tokensPerStep)) {
    const { packs } = packTrees(
      batch.map((sample) => supervise(sample, lesson)),
      { maxPackTokens },
    );
    const metrics = await backbone.trainStep({ packs, loss: { kind: 'sft' } });
    losses.push(metrics.loss);
    rowTokens += metrics.rowTokens;
    treeTokens += metrics.treeTokens;
    if (losses.length % 50 === 0)
      console.log(`${lesson} ${losses.length}/${numSteps}: loss ${mean(losses.slice(-50)).toFixed(4)}`);
    if (losses.length === numSteps) break;
  }
  const seconds = (performance.now() - startedAt) / 1000;
  return {
    ...plan,
    rowTokens,
    treeTokens,
    seconds,
    losses,
    firstLoss: losses[0] ?? Number.NaN,
    lastLoss: mean(losses.slice(-20)),
  };
}

/** Returns the loss in nats per token of the teacher's answers, on transcripts that were not trained. */
export async function measureLoss(backbone: Backbone, samples: readonly Sample[]): Promise<number> {
  const logprobs = await backbone.logprobs(samples);
  const losses = samples.flatMap(({ lossMask }, row) =>
    [...lossMask].flatMap((mask, index) => (mask === 1 ? [-(logprobs[row]?.[index] ?? 0)] : [])),
  );
  return mean(losses);
}
