import { defineAlgorithm, openEntry, z, type Algorithm, type AlgorithmParts, type Entry } from '@agentjet/core';
import { grpo } from './grpo/registration.js';
import { reinforce } from './reinforce/registration.js';

/**
 * Presets are published algorithms under their usual names, each with the settings of its paper. If AgentJet has no key
 * for a setting of the paper, the comment of the preset says so.
 */

const none = z.strictObject({});

function openAs(algorithm: typeof grpo | typeof reinforce) {
  return (_: unknown, parts: AlgorithmParts): Algorithm | Promise<Algorithm> =>
    openEntry('algorithms', algorithm, parts.config, parts);
}

/** The number of tasks of a batch, as the user set it. */
const batchSize: NonNullable<Entry['sets']>[string] = ({ data }) =>
  (data as { readonly train_batch_size: number }).train_batch_size;

/**
 * Liu et al. 2025, "Understanding R1-Zero-Like Training", do not divide by the standard deviation, and divide by a
 * constant length instead of the length of each answer.
 */
const drGrpo = defineAlgorithm({
  name: 'dr_grpo',
  summary: 'grpo without its biases of length and deviation',
  section: none,
  sets: {
    'trainer_common.algorithm.norm_adv_by_std_in_grpo': false,
    'trainer_common.loss_agg_mode': 'seq-mean-token-sum-norm',
    'trainer_common.use_kl_loss': false,
  },
  open: openAs(grpo),
});

/** Ahmadian et al. 2024, "Back to Basics", compare a reward with the mean of the other episodes of the task. */
const rloo = defineAlgorithm({
  name: 'rloo',
  summary: 'reinforce against the mean of the other episodes',
  section: none,
  sets: { 'trainer_common.algorithm.reinforce_baseline': 'group' },
  open: openAs(reinforce),
});

/**
 * Hu et al. 2025, "REINFORCE++", use no baseline of the group and normalise advantages over the batch. Their KL penalty
 * in the reward is `use_kl_in_reward`. It opens the initial model a second time, so the preset leaves it off.
 */
const reinforcePlusPlus = defineAlgorithm({
  name: 'reinforce_plus_plus',
  summary: 'REINFORCE++: advantages normalised over the batch',
  section: none,
  sets: {
    'trainer_common.algorithm.reinforce_baseline': 'none',
    'trainer_common.algorithm.whiten_advantages': true,
  },
  open: openAs(reinforce),
});

/**
 * Yu et al. 2025, "DAPO", raise the upper clip limit, weigh all tokens equally, use no KL penalty, and replace groups
 * whose rewards are all equal. Their treatment of long answers is `mask_truncated_completions` and `overlong_buffer`.
 * Both depend on the limits of answers, so the preset leaves them off.
 */
const dapo = defineAlgorithm({
  name: 'dapo',
  summary: 'grpo with clip-higher, without KL, and with other tasks in place of groups of equal rewards',
  section: none,
  sets: {
    'trainer_common.algorithm.norm_adv_by_std_in_grpo': true,
    'trainer_common.clip_ratio_low': 0.2,
    'trainer_common.clip_ratio_high': 0.28,
    'trainer_common.loss_agg_mode': 'token-mean',
    'trainer_common.use_kl_loss': false,
    'rollout.refill_groups': batchSize,
  },
  open: openAs(grpo),
});

/**
 * Zheng et al. 2025, "Group Sequence Policy Optimization", use the ratio of a whole sequence. The clip range is from
 * section 5.1.
 */
const gspo = defineAlgorithm({
  name: 'gspo',
  summary: 'grpo with the ratio of whole sequences',
  section: none,
  sets: {
    'trainer_common.algorithm.norm_adv_by_std_in_grpo': true,
    'trainer_common.loss_mode': 'gspo',
    'trainer_common.clip_ratio_low': 3e-4,
    'trainer_common.clip_ratio_high': 4e-4,
    'trainer_common.clip_ratio_c': 0,
    'trainer_common.loss_agg_mode': 'seq-mean-token-mean',
    'trainer_common.use_kl_loss': false,
  },
  open: openAs(grpo),
});

/**
 * MiniMax-M1 (2025) limits the importance weight of a token only from above, so no token loses its gradient. The upper
 * limit of 5 is from Khatri et al. 2025, "The Art of Scaling Reinforcement Learning Compute"; MiniMax-M1 gives none.
 */
const cispo = defineAlgorithm({
  name: 'cispo',
  summary: 'grpo with clipped importance weights',
  section: none,
  sets: {
    'trainer_common.algorithm.norm_adv_by_std_in_grpo': true,
    'trainer_common.loss_mode': 'cispo',
    'trainer_common.clip_ratio_low': 1,
    'trainer_common.clip_ratio_high': 4,
    'trainer_common.loss_agg_mode': 'token-mean',
    'trainer_common.use_kl_loss': false,
  },
  open: openAs(grpo),
});

export const presets = [drGrpo, rloo, reinforcePlusPlus, dapo, gspo, cispo] as const;
