import { defineAlgorithm, openEntry, z, type Algorithm, type AlgorithmParts, type Entry } from '@agentjet/core';
import { grpo } from './grpo/registration.js';
import { reinforce } from './reinforce/registration.js';

/**
 * Algorithms of papers, each with its settings under the usual name. A setting of the paper that has no key here is named in
 * the comment of its preset.
 */

const none = z.strictObject({});

function openAs(algorithm: typeof grpo | typeof reinforce) {
  return (_: unknown, parts: AlgorithmParts): Algorithm | Promise<Algorithm> =>
    openEntry('algorithms', algorithm, parts.config, parts);
}

/** Tasks of a batch, as the user asked for them. */
const batchSize: NonNullable<Entry['sets']>[string] = ({ data }) =>
  (data as { readonly train_batch_size: number }).train_batch_size;

/** Liu et al. 2025, "Understanding R1-Zero-Like Training": no division by the deviation, and a constant length instead of each answer's own. */
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

/** Ahmadian et al. 2024, "Back to Basics": reward against the mean of the other episodes of the task. */
const rloo = defineAlgorithm({
  name: 'rloo',
  summary: 'reinforce against the mean of the other episodes',
  section: none,
  sets: { 'trainer_common.algorithm.reinforce_baseline': 'group' },
  open: openAs(reinforce),
});

/** Hu et al. 2025, "REINFORCE++": no baseline of the group; advantages are normalised over the batch. Its KL penalty in the reward has no key here. */
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

/** Yu et al. 2025, "DAPO": clip-higher, every token counts the same, no KL, groups without spread are replaced. Its punishment of long answers has no key here. */
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

/** Zheng et al. 2025, "Group Sequence Policy Optimization": the ratio of a whole sequence, with the clip range of section 5.1. */
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
 * MiniMax-M1 (2025): the weight of a token is clipped from above only, and no token loses its gradient. The upper limit of 5 is that of
 * Khatri et al. 2025, "The Art of Scaling Reinforcement Learning Compute"; MiniMax-M1 gives none.
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
