import { BackboneError, type Algorithm, type EpisodeGroup, type Sample } from '@agentjet/core';

export type DistillOptions = {
  /** The weight of the teacher. Defaults to 1. */
  readonly klPenaltyCoef?: number;
  /** The limits of the difference of a token, in nats. Null means no limit and is the default. */
  readonly clipMin?: number | null;
  readonly clipMax?: number | null;
  /** An algorithm that credits the rewards, and the weight of its advantages. Default: rewards have no effect. */
  readonly rewards?: { readonly algorithm: Algorithm; readonly weight: number };
};

/**
 * On-policy distillation (Agarwal et al. 2024, "On-Policy Distillation of Language Models"; Lu et al. 2025, "On-Policy
 * Distillation", Thinking Machines Lab). The student samples, and the teacher scores each sampled token:
 *
 *     A_t = klPenaltyCoef * clip(log teacher(t) - log student(t), clipMin, clipMax) + weight * A_t of the rewards
 *
 * The expected difference is the negative reverse KL of the token's distribution. The weight is from Lu et al. The
 * limits are from rLLM (`algorithm.adv_clip_min`, `adv_clip_max`). Later tokens do not change the advantage of a token.
 */
export function createDistill({
  klPenaltyCoef = 1,
  clipMin = null,
  clipMax = null,
  rewards,
}: DistillOptions = {}): Algorithm {
  const clip = (difference: number): number =>
    Math.min(Math.max(difference, clipMin ?? -Infinity), clipMax ?? Infinity);
  const credit = (sample: Sample): Sample => {
    const teacher = teacherOf(sample);
    const ofToken = (mask: number, t: number): number => {
      if (mask !== 1) return 0;
      const difference = clip((teacher[t] ?? 0) - (sample.logprobs[t] ?? 0));
      return klPenaltyCoef * difference + (rewards?.weight ?? 0) * (sample.advantages[t] ?? 0);
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

function teacherOf({ teacherLogprobs, episodeId }: Sample): Float32Array {
  if (teacherLogprobs !== undefined) return teacherLogprobs;
  throw new BackboneError(
    'no_teacher',
    `The algorithm "distill" needs teacherLogprobs, and a sample of episode "${episodeId}" has none. Score the samples with a teacher first.`,
  );
}
