import { BackboneError, type Algorithm, type EpisodeGroup, type Sample } from '@agentjet/core';
import { scoreGap } from '../score-gap.js';

export type DistillOptions = {
  /** The weight of the teacher. Defaults to 1. */
  readonly klPenaltyCoef?: number;
  /** 1 is the reverse KL and the default. 0 is the forward KL. Values between them are Jensen-Shannon divergences. */
  readonly beta?: number;
  /** The limits of the advantage of a token before the weight. Null means no limit and is the default. */
  readonly clipMin?: number | null;
  readonly clipMax?: number | null;
  /** An algorithm that credits the rewards, and the weight of its advantages. Default: rewards have no effect. */
  readonly rewards?: { readonly algorithm: Algorithm; readonly weight: number };
};

/**
 * On-policy distillation (Agarwal et al. 2024, "On-Policy Distillation of Language Models"; Lu et al. 2025, "On-Policy
 * Distillation", Thinking Machines Lab). The student samples, and the teacher scores each sampled token:
 *
 *     d_t = log teacher(t) - log student(t)
 *     A_t = klPenaltyCoef * clip(log(1 - beta + beta * exp(d_t)) / beta, clipMin, clipMax) + weight * A_t of the rewards
 *
 * A difference that rounding alone may explain counts as 0. With beta = 1 the advantage is d_t, and its expectation is the negative reverse KL of the token's distribution. Lower
 * values train the generalized Jensen-Shannon divergence of Agarwal et al. (eq. 1), divided by beta * (1 - beta): the
 * expectation of A_t * grad log student(t) is its negative gradient. With beta = 0 this is the forward KL, and A_t is
 * exp(d_t) - 1. This holds for the weights that sampled: further updates of a batch keep the advantages, and the loss
 * multiplies them by its clipped ratio, as PPO does. The weight is from Lu et al. The limits are from rLLM
 * (`algorithm.adv_clip_min`, `adv_clip_max`). Later tokens do not change the advantage of a token.
 */
export function createDistill({
  klPenaltyCoef = 1,
  beta = 1,
  clipMin = null,
  clipMax = null,
  rewards,
}: DistillOptions = {}): Algorithm {
  const clip = (advantage: number): number => Math.min(Math.max(advantage, clipMin ?? -Infinity), clipMax ?? Infinity);
  const credit = (sample: Sample): Sample => {
    const teacher = teacherOf(sample);
    const ofToken = (mask: number, t: number): number => {
      if (mask !== 1) return 0;
      const advantage = clip(advantageOf(scoreGap(teacher[t] ?? 0, sample.logprobs[t] ?? 0), beta));
      return klPenaltyCoef * advantage + (rewards?.weight ?? 0) * (sample.advantages[t] ?? 0);
    };
    return { ...sample, advantages: Float32Array.from(sample.lossMask, ofToken) };
  };
  const rewarded = (group: EpisodeGroup): readonly Sample[] =>
    rewards === undefined ? group.episodes.flatMap(({ samples }) => samples) : rewards.algorithm.credit(group);
  const { creditBatch } = rewards?.algorithm ?? {};
  return {
    name: 'distill',
    needsTeacher: true,
    credit: (group) => rewarded(group).map(credit),
    ...(creditBatch && { creditBatch: (groups) => creditBatch(groups).map(credit) }),
  };
}

/** Returns the advantage of a token from log teacher - log student. All divergences agree if the difference is small. */
function advantageOf(difference: number, beta: number): number {
  if (beta === 1) return difference;
  const excess = Math.expm1(difference);
  return beta === 0 ? excess : Math.log1p(beta * excess) / beta;
}

function teacherOf({ teacherLogprobs, episodeId }: Sample): Float32Array {
  if (teacherLogprobs !== undefined) return teacherLogprobs;
  throw new BackboneError(
    'no_teacher',
    `The algorithm "distill" needs teacherLogprobs, and a sample of episode "${episodeId}" has none. Score the samples with a teacher first.`,
  );
}
