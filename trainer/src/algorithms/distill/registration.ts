import { type CommonConfig, ConfigError, defineAlgorithm, openEntry, setting, z } from '@agentjet/core';
import { grpo } from '../grpo/registration.js';

const notNegative = z.number().min(0);

export const distill = defineAlgorithm({
  name: 'distill',
  summary: 'teacher.model scores every sampled token',
  section: z.strictObject({
    kl_penalty_coef: setting(notNegative, 1, 'weight of the teacher in the advantage of a token'),
    beta: setting(
      z.number().min(0).max(1),
      1,
      'the divergence, as in GKD. 1: reverse KL, the advantage is log teacher - log student | 0: forward KL | between: Jensen-Shannon. Below 1, a token that the teacher does not expect costs less, and a rare token that it expects counts more',
    ),
    reward_coef: setting(
      notNegative,
      0,
      'weight of the advantages of the rewards, as grpo computes them. 0: the rewards have no effect',
    ),
    adv_clip_min: setting(
      z.number().max(0).nullable(),
      -5,
      'lower limit of the advantage from the teacher, before its weight. null: none',
    ),
    adv_clip_max: setting(notNegative.nullable(), 5, 'its upper limit. null: none'),
  }),
  async open({ klPenaltyCoef, beta, rewardCoef, advClipMin, advClipMax }, parts) {
    requireTeacher(parts.config.teacher.model);
    requireEffect({ klPenaltyCoef, rewardCoef }, parts.config);
    const { createDistill } = await import('./distill.js');
    const algorithm = rewardCoef === 0 ? undefined : await openEntry('algorithms', grpo, parts.config, parts);
    return createDistill({
      klPenaltyCoef,
      beta,
      clipMin: advClipMin,
      clipMax: advClipMax,
      ...(algorithm && { rewards: { algorithm, weight: rewardCoef } }),
    });
  },
});

function requireTeacher(model: string | null): void {
  if (model !== null) return;
  throw new ConfigError(
    'conflict',
    '"trainer_common.algorithm.adv_estimator" is distill, which learns from a teacher, and "teacher.model" is null. Set teacher.model to a model with the vocabulary of model.path.',
  );
}

type Weights = { readonly klPenaltyCoef: number; readonly rewardCoef: number };

/** Throws if nothing is learned, or if rewards are changed that have no effect. */
function requireEffect({ klPenaltyCoef, rewardCoef }: Weights, { rollout, trainerCommon }: CommonConfig): void {
  const { len: overlongBuffer } = trainerCommon.overlongBuffer;
  const coefficient = '"trainer_common.algorithm.distill.reward_coef"';
  if (rewardCoef === 0 && klPenaltyCoef === 0)
    throw new ConfigError(
      'conflict',
      `"trainer_common.algorithm.distill.kl_penalty_coef" and ${coefficient} are 0, so neither the teacher nor the rewards teach anything. Raise one of them.`,
    );
  if (rewardCoef > 0 && rollout.numRepeat === 1)
    throw new ConfigError(
      'conflict',
      `${coefficient} is ${rewardCoef}, and "rollout.num_repeat" is 1, so there are no other episodes of a task to compare a reward with, and the rewards teach nothing. Raise num_repeat, or set reward_coef to 0.`,
    );
  if (rewardCoef > 0 || overlongBuffer === 0) return;
  throw new ConfigError(
    'conflict',
    `"trainer_common.overlong_buffer.len" is ${overlongBuffer}, which changes rewards, and ${coefficient} is 0, so that rewards have no effect. Raise reward_coef, or set overlong_buffer.len to 0.`,
  );
}
