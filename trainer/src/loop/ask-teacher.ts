import { BackboneError, type MetricValues, type RewardedEpisode, type Sample, type Teacher } from '@agentjet/core';
import { packFor } from '../packing/pack-for.js';
import { withTemperatures } from './batch-parts.js';
import { orderGroups } from './credit-groups.js';
import type { TrainingGroup } from './training-group.js';

export type TeacherQuestion = {
  /** The temperature for tokens that have no temperature of the sampler. Other tokens are scored at theirs. */
  readonly temperature: number;
  readonly maxPackTokens: number;
};

/**
 * Lets the teacher score every sampled token of the groups. The samples of all groups go to the teacher as token trees,
 * so it computes each shared token once. The trees do not depend on the order in which episodes finished, because other
 * trees would round differently. Rejects with BackboneError `bad_teacher_answer` for a logprob that is not finite, and
 * with the errors of the teacher.
 */
export async function askTeacher(
  groups: readonly TrainingGroup[],
  teacher: Teacher,
  { temperature, maxPackTokens }: TeacherQuestion,
): Promise<readonly TrainingGroup[]> {
  const samples = orderGroups(groups).flatMap(({ episodes }) => episodes.flatMap((episode) => episode.samples));
  const scored = await scoreSamples(samples, teacher, { temperature, maxPackTokens });
  const scoredOf = new Map(samples.map((sample, row) => [sample, scored[row] ?? sample]));
  const withScores = (episode: RewardedEpisode): RewardedEpisode => ({
    ...episode,
    samples: episode.samples.map((sample) => scoredOf.get(sample) ?? sample),
  });
  return groups.map((group) => ({ ...group, episodes: group.episodes.map(withScores) }));
}

async function scoreSamples(
  samples: readonly Sample[],
  teacher: Teacher,
  { temperature, maxPackTokens }: TeacherQuestion,
): Promise<readonly Sample[]> {
  const scores = samples.map(({ ids }) => new Float32Array(ids.length));
  const { packs } = packFor({ capabilities: teacher }, withTemperatures(samples, { temperature }), {
    maxPackTokens,
    weighting: 'row',
  });
  const found = packs.length === 0 ? [] : await teacher.termLogprobs(packs, temperature);
  packs.forEach(({ positions, predictors, terms }, index) => {
    terms.pair.forEach((pair, k) => {
      const position = (positions[predictors[pair] ?? 0] ?? 0) + 1;
      const score = scores[terms.sequence[k] ?? 0];
      if (score !== undefined) score[position] = requireFinite(found[index]?.[k]);
    });
  });
  return samples.map((sample, row) => ({ ...sample, teacherLogprobs: scores[row] ?? new Float32Array() }));
}

/** An advantage that is not a number would leave out its whole group, as if the group had nothing to learn. */
function requireFinite(logprob = Number.NaN): number {
  if (Number.isFinite(logprob)) return logprob;
  throw new BackboneError(
    'bad_teacher_answer',
    `The model that scores the samples (teacher.model, or the initial model with use_kl_in_reward) gave ${logprob} as a logprob. Its weights contain NaN or infinite values, or its computation overflows. Choose another model, or load it in float32.`,
  );
}

/**
 * Returns a metric called `name`: the mean of log student - log teacher over the sampled tokens, which estimates the
 * reverse KL in nats. Returns no metric if no teacher scored the tokens.
 */
export function scoreMetrics(groups: readonly TrainingGroup[], name: 'teacher_kl' | 'reference_kl'): MetricValues {
  let [sum, count] = [0, 0];
  for (const { lossMask, logprobs, teacherLogprobs } of groups.flatMap(({ episodes }) =>
    episodes.flatMap(({ samples }) => samples),
  )) {
    if (teacherLogprobs === undefined) continue;
    lossMask.forEach((mask, t) => {
      if (mask !== 1) return;
      sum += (logprobs[t] ?? 0) - (teacherLogprobs[t] ?? 0);
      count++;
    });
  }
  if (count === 0) return {};
  return name === 'teacher_kl' ? { teacher_kl: sum / count } : { reference_kl: sum / count };
}
