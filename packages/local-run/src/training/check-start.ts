import {
  ConfigError,
  describePresets,
  type Algorithm,
  type CommonConfig,
  type ConfigComposition,
} from '@agentjet/core';
import { noticeIdleSettings } from './idle-settings.js';
import { evaluatesAtAll } from '../schedule/read-plan.js';

/**
 * Checks a configuration and its parts before the first episode. Settings that make learning impossible are refused,
 * and settings that have less effect than expected are reported.
 */

export type StartParts = {
  readonly algorithm: Algorithm;
  readonly composition: ConfigComposition;
};

/** Throws ConfigError `conflict` if no episode could be trained. Returns notices for the user. */
export function checkStart(config: CommonConfig, parts: StartParts): readonly string[] {
  const [problem] = [
    ...describeGroupSize(config, parts.algorithm),
    ...describeTeacher(config, parts.algorithm),
    ...describeImitation(config, parts.algorithm),
  ];
  if (problem !== undefined) throw new ConfigError('conflict', problem);
  return describeSettings(config, parts);
}

/**
 * Makes the checks of `checkStart` for a server. A server may serve only evaluations, so groups that are too small are
 * not refused but reported.
 */
export function checkServedStart(config: CommonConfig, parts: StartParts): readonly string[] {
  const [problem] = [
    ...describeServedConflicts(config),
    ...describeServedTeacher(config, parts.algorithm),
    ...describeImitation(config, parts.algorithm),
  ];
  if (problem !== undefined) throw new ConfigError('conflict', problem);
  return [...describeGroupSize(config, parts.algorithm), ...describeSettings(config, parts)];
}

/** Describes settings that have an effect only in ordinary runs. */
function describeServedConflicts({ rollout, swarm }: CommonConfig): readonly string[] {
  const { refillGroups, stragglerPatience } = rollout;
  return [
    ...(refillGroups > 0
      ? [
          `"rollout.refill_groups" is ${refillGroups}, and neither a swarm nor a run of several policies draws tasks in place of others. Set it to 0. In a swarm, set "swarm.sample_collection" to enough_informative_tasks.`,
        ]
      : []),
    ...(swarm.order === 'drawn' && stragglerPatience !== null
      ? [
          `"rollout.straggler_patience" is ${stragglerPatience}, and a step waits for each of its groups with "swarm.order" drawn. Set it to null, or use "ajet swarm serve" with swarm.order: pool.`,
        ]
      : []),
  ];
}

function describeTeacher(
  { teacher, rollout, trainerCommon }: CommonConfig,
  { name, needsTeacher }: Algorithm,
): readonly string[] {
  const isNeeded = needsTeacher === true;
  if (isNeeded && trainerCommon.algorithm.useKlInReward)
    return [
      `"trainer_common.algorithm.use_kl_in_reward" is true, and the algorithm "${name}" learns from a teacher, so two models would have to score each token. Set use_kl_in_reward to false.`,
    ];
  if (isNeeded && teacher.model === null)
    return [`The algorithm "${name}" learns from a teacher, and "teacher.model" is null. Set it.`];
  if (!isNeeded && teacher.model !== null)
    return [
      `"teacher.model" is ${teacher.model}, and the algorithm "${name}" does not learn from a teacher. Set "trainer_common.algorithm.adv_estimator" to distill, or remove teacher.model.`,
    ];
  if (teacher.model === null && teacher.baseUrl !== null)
    return [
      `"teacher.base_url" is ${teacher.baseUrl}, and "teacher.model" is null, so no teacher is asked. Set teacher.model to the name of the model at this server, or remove teacher.base_url.`,
    ];
  if (teacher.baseUrl === null && teacher.server !== 'vllm')
    return [
      `"teacher.server" is ${teacher.server}, and "teacher.base_url" is null, so the backbone would open ${teacher.model} on this machine. Set teacher.base_url to the address of the server, or remove teacher.server.`,
    ];
  if (isNeeded && rollout.refillGroups > 0)
    return [
      `"rollout.refill_groups" is ${rollout.refillGroups}, and a teacher also trains groups whose rewards are all equal. Set it to 0.`,
    ];
  return [];
}

/** Describes a term of the policy's loss that an algorithm which imitates its answers would ignore. */
function describeImitation({ trainerCommon }: CommonConfig, { name, loss }: Algorithm): readonly string[] {
  if (loss !== 'sft') return [];
  const { algorithm, lossMode, overlongBuffer } = trainerCommon;
  const ignored: readonly (readonly [key: string, isSet: boolean, off: string])[] = [
    ['loss_mode', lossMode !== 'ppo', 'ppo'],
    ['use_kl_loss', trainerCommon.useKlLoss, 'false'],
    ['algorithm.use_kl_in_reward', algorithm.useKlInReward, 'false'],
    ['entropy_coeff', trainerCommon.entropyCoeff > 0, '0'],
    ['tis_cap', trainerCommon.tisCap > 0, '0'],
    ['rollout_is_threshold', trainerCommon.rolloutIsThreshold > 0, '0'],
    ['overlong_buffer.len', overlongBuffer.len > 0, '0'],
  ];
  return ignored.flatMap(([key, isSet, off]) =>
    isSet
      ? [
          `"trainer_common.${key}" is set, and the algorithm "${name}" imitates answers, so it has no effect. Set it to ${off}, or choose another "trainer_common.algorithm.adv_estimator".`,
        ]
      : [],
  );
}

/** Describes a setting that needs a teacher or the initial model, which swarms and runs of several policies lack. */
function describeServedTeacher(config: CommonConfig, algorithm: Algorithm): readonly string[] {
  const { name, needsTeacher } = algorithm;
  const { trainerCommon } = config;
  if (trainerCommon.algorithm.useKlInReward)
    return [
      '"trainer_common.algorithm.use_kl_in_reward" is true, and neither a swarm nor a run of several policies opens the initial model a second time. Set it to false, or use "trainer_common.use_kl_loss".',
    ];
  if (needsTeacher !== true) return describeTeacher(config, algorithm);
  return [
    `The algorithm "${name}" learns from a teacher, which neither a swarm nor a run of several policies has. Train one model in an ordinary run, or choose another "trainer_common.algorithm.adv_estimator".`,
  ];
}

function describeSettings(config: CommonConfig, { composition }: StartParts): readonly string[] {
  return [
    ...describePresets(config, composition.registrations),
    ...describePassN(config),
    ...noticeIdleSettings(config, composition),
    ...noticeKl(config),
    ...noticeGspo(config),
    ...noticeLengths(config),
  ];
}

function describeGroupSize(
  { rollout, trainerCommon }: CommonConfig,
  { name, leastEpisodes = 1 }: Algorithm,
): readonly string[] {
  if (rollout.numRepeat >= leastEpisodes) return [];
  return [
    `"rollout.num_repeat" is ${rollout.numRepeat}, but ${trainerCommon.algorithm.advEstimator} (${name}) compares the episodes of a task: with fewer than ${leastEpisodes} every advantage is 0, and nothing is learned. ` +
      'Raise it, or use "trainer_common.algorithm.adv_estimator": reinforce with "trainer_common.algorithm.reinforce_baseline": batch.',
  ];
}

/**
 * Throws ConfigError `conflict` if `keep_best` is set but there are no evaluations. `numTasks` is the number of
 * evaluation tasks, if it is known.
 */
export function checkKeepBest({ trainerCommon }: CommonConfig, numTasks: number | undefined): void {
  const { keepBest } = trainerCommon;
  const isOff = !evaluatesAtAll(trainerCommon);
  if (keepBest === null || (!isOff && numTasks !== 0)) return;
  const why = isOff
    ? '"trainer_common.val_before_train" is false and "trainer_common.test_freq" is 0, so that nothing is evaluated. Set test_freq'
    : 'there are no evaluation tasks. Name them in the section of the task reader';
  throw new ConfigError('conflict', `"trainer_common.keep_best" is "${keepBest}", but ${why}, or remove keep_best.`);
}

/** Says that greedy episodes of a task may all be equal. */
export function describePassN({ trainerCommon: { valPassN }, rollout }: CommonConfig): readonly string[] {
  if (valPassN === 1 || rollout.valKwargs.temperature > 0) return [];
  return [
    `trainer_common.val_pass_n is ${valPassN} and rollout.val_kwargs.temperature is 0: the model gives the same answer each time, ` +
      'so the episodes of a task differ only if the agent or its environment is random. Set a temperature to measure pass@n.',
  ];
}

function noticeKl({ trainerCommon: { useKlLoss, klLossType } }: CommonConfig): readonly string[] {
  if (!useKlLoss || (klLossType !== 'kl' && klLossType !== 'k1')) return [];
  return [
    `trainer_common.kl_loss_type is ${klLossType}: the gradient of the estimate k1 is 0 on average, so as a loss it does not keep the model near its start. Use low_var_kl (k3) or mse (k2).`,
  ];
}

/** GSPO (Zheng et al. 2025) uses 3e-4 and 4e-4. From this range on, the ratio of single tokens is probably meant. */
const widestSequenceClip = 0.05;

function noticeGspo({ trainerCommon: { lossMode, clipRatioLow, clipRatioHigh } }: CommonConfig): readonly string[] {
  if (lossMode !== 'gspo' || Math.min(clipRatioLow, clipRatioHigh) < widestSequenceClip) return [];
  return [
    `trainer_common.loss_mode is gspo, and the clip range is ${clipRatioLow} and ${clipRatioHigh}, which suits the ratio of single tokens. The ratio of a whole answer changes far less. ` +
      'Set clip_ratio_low to 3e-4 and clip_ratio_high to 4e-4, or set trainer_common.algorithm.adv_estimator to gspo, which does so.',
  ];
}

function noticeLengths({ data, rollout: { maxModelLen } }: CommonConfig): readonly string[] {
  const limit = data.maxPromptLength + data.maxResponseLength;
  if (data.overlongSamplePolicy !== 'error' || limit >= maxModelLen) return [];
  return [
    `A conversation may have ${maxModelLen} tokens (rollout.max_model_len), and a sample of more than ${limit} ends the run (data.max_prompt_length + data.max_response_length). ` +
      `Set rollout.max_model_len to ${limit}, raise the other two, or set data.overlong_sample_policy to drop_episode or truncate.`,
  ];
}

/**
 * Throws ConfigError `conflict` if `stop_on_collapse` is true, but no evaluations show a collapse. `numTasks` is the
 * number of evaluation tasks, if it is known.
 */
export function checkStopOnCollapse({ trainerCommon }: CommonConfig, numTasks: number | undefined): void {
  const { stopOnCollapse, testFreq } = trainerCommon;
  if (!stopOnCollapse || (testFreq > 0 && numTasks !== 0)) return;
  const why =
    testFreq === 0
      ? '"trainer_common.test_freq" is 0, so that no evaluation is made between the steps. Set test_freq'
      : 'there are no evaluation tasks. Name them in the section of the task reader';
  throw new ConfigError('conflict', `"trainer_common.stop_on_collapse" is true, but ${why}, or set it to false.`);
}
