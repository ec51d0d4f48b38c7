import { truncationOf } from '../backbone.js';
import type { CommonYaml, Entries } from './compose-schema.js';
import type { ConfigSource } from './config-source.js';
import { valueAtKey } from './presets.js';
import { allKinds, isExportReference, kinds } from './registration.js';
import { showValue } from './show-value.js';

export type Problem = { readonly code: string; readonly message: string };

/** Finds settings that are valid alone and contradict each other. `locate` returns where a key was written. */
export function findConflicts(config: CommonYaml, locate: (key: string) => string): readonly Problem[] {
  const { max_prompt_length: prompt, max_response_length: response } = config.data;
  const { max_model_len: limit, max_response_length_in_one_turn: turn } = config.rollout;
  const { max_staleness: staleness, mini_batch_num: parts, ppo_epochs: passes } = config.trainer_common;
  const problems: Problem[] = [];
  const report = (message: string): void => void problems.push({ code: 'conflict', message });
  if (prompt + response > limit)
    report(
      `"data.max_prompt_length" ${prompt} + "data.max_response_length" ${response} = ${prompt + response} is more than "rollout.max_model_len" ${limit} (${locate('rollout.max_model_len')}). Raise max_model_len or lower the other two.`,
    );
  if (turn >= limit)
    report(
      `"rollout.max_response_length_in_one_turn" ${turn} (${locate('rollout.max_response_length_in_one_turn')}) leaves no room for a prompt within "rollout.max_model_len" ${limit}. Lower it.`,
    );
  if (staleness > 0 && staleness < parts * passes)
    report(
      `"trainer_common.max_staleness" ${staleness} (${locate('trainer_common.max_staleness')}) is too small to sample ahead: a batch makes mini_batch_num ${parts} x ppo_epochs ${passes} = ${parts * passes} versions. Set it to at least that, or to 0.`,
    );
  return [
    ...problems,
    ...findOptimizerConflicts(config, locate),
    ...findCorrectionConflicts(config, locate),
    ...findShapeConflicts(config, locate),
    ...findTruncationConflicts(config, locate),
    ...findReplicaConflicts(config, locate),
    ...findOrderConflicts(config, locate),
    ...findAdapterConflicts(config, locate),
  ];
}

/** An adapter to begin with needs a run that trains adapters, and is not part of the initial model of KL in the reward. */
function findAdapterConflicts(
  { lora, trainer_common: trainer }: CommonYaml,
  locate: (key: string) => string,
): readonly Problem[] {
  if (lora.adapter === null) return [];
  const place = `"lora.adapter" (${locate('lora.adapter')})`;
  const messages = [
    ...(lora.rank > 0
      ? []
      : [
          `${place} names an adapter, and "lora.rank" 0 trains all weights. Set lora.rank, lora.alpha and lora.target_modules to those of the adapter.`,
        ]),
    ...(trainer.algorithm.use_kl_in_reward
      ? [
          `${place} cannot be used with "trainer_common.algorithm.use_kl_in_reward", which opens the initial model without an adapter. Merge the adapter with \`ajet export\` and begin with the new folder, or use trainer_common.kl_loss_coef.`,
        ]
      : []),
  ];
  return messages.map((message) => ({ code: 'conflict', message }));
}

/** `swarm.order: drawn` takes the tasks in their order, so settings that let a swarm choose have no effect with it. */
function findOrderConflicts({ swarm, rollout }: CommonYaml, locate: (key: string) => string): readonly Problem[] {
  if (swarm.order !== 'drawn') return [];
  const { shares, sample_collection: collection } = swarm;
  const others = [
    ...(shares.length > 0 ? [['swarm.shares', `${shares.length} shares`, 'Remove the shares']] : []),
    ...(collection === 'enough_tasks' || collection === 'finish_enough_tasks'
      ? []
      : [['swarm.sample_collection', collection, 'Set it to enough_tasks']]),
    ...(rollout.oversubscribe === 1 ? [] : [['rollout.oversubscribe', `${rollout.oversubscribe}`, 'Set it to 1']]),
  ];
  return others.map(([key = '', value = '', repair = '']) => ({
    code: 'conflict',
    message: `"${key}" ${value} (${locate(key)}) cannot be used with "swarm.order" drawn (${locate('swarm.order')}), which takes the tasks in their order. ${repair}, or set swarm.order to pool.`,
  }));
}

function findOptimizerConflicts(
  {
    data,
    trainer_common: { optim, mini_batch_num: parts, ppo_epochs: passes, total_training_steps: steps },
  }: CommonYaml,
  locate: (key: string) => string,
): readonly Problem[] {
  const messages: string[] = [];
  const shown = (key: string, value: number): string => `"${key}" ${value} (${locate(key)})`;
  if (optim.lr !== 'auto' && optim.lr * optim.weight_decay >= 1)
    messages.push(
      `${shown('trainer_common.optim.lr', optim.lr)} x ${shown('trainer_common.optim.weight_decay', optim.weight_decay)} is the share that a step removes from each weight, and must be below 1. Lower weight_decay.`,
    );
  if (parts > data.train_batch_size)
    messages.push(
      `${shown('trainer_common.mini_batch_num', parts)} divides a batch of "data.train_batch_size" ${data.train_batch_size} tasks into more parts than it has tasks. Lower it to ${data.train_batch_size} or less.`,
    );
  if (steps !== null && optim.lr_warmup_steps >= steps * parts * passes)
    messages.push(
      `${shown('trainer_common.optim.lr_warmup_steps', optim.lr_warmup_steps)} leaves no step of "trainer_common.total_training_steps" ${steps} at the full rate. Lower it.`,
    );
  if (optim.lr_warmup_steps > 0 && optim.lr_warmup_steps_ratio > 0)
    messages.push(
      `${shown('trainer_common.optim.lr_warmup_steps', optim.lr_warmup_steps)} and ${shown('trainer_common.optim.lr_warmup_steps_ratio', optim.lr_warmup_steps_ratio)} both set the warm-up. Keep one of them.`,
    );
  if (optim.min_lr_ratio > 0 && optim.lr_scheduler_type === 'constant')
    messages.push(
      `${shown('trainer_common.optim.min_lr_ratio', optim.min_lr_ratio)} has no effect with "trainer_common.optim.lr_scheduler_type" constant, whose rate never falls. Set it to 0, or choose another schedule.`,
    );
  if (optim.lr_wsd_decay_steps !== null && optim.lr_scheduler_type !== 'warmup_stable_decay')
    messages.push(
      `${shown('trainer_common.optim.lr_wsd_decay_steps', optim.lr_wsd_decay_steps)} has no effect with "trainer_common.optim.lr_scheduler_type" ${optim.lr_scheduler_type}. Remove it, or choose warmup_stable_decay.`,
    );
  return messages.map((message) => ({ code: 'conflict', message }));
}

/** Finds keys that limit the same weight, limits that leave nothing, and settings of a limit that is off. */
function findCorrectionConflicts(
  { trainer_common: trainer }: CommonYaml,
  locate: (key: string) => string,
): readonly Problem[] {
  const {
    tis_cap: cap,
    rollout_is_threshold: upper,
    rollout_is_threshold_lower: lower,
    rollout_is_level: level,
    rollout_is_mode: mode,
  } = trainer;
  const shown = (key: string, value: number | string): string =>
    `"trainer_common.${key}" ${value} (${locate(`trainer_common.${key}`)})`;
  const needsThreshold =
    cap > 0
      ? `"trainer_common.tis_cap" ${cap}, which truncates the weights of tokens. Set rollout_is_threshold in place of tis_cap`
      : '"trainer_common.rollout_is_threshold" 0. Set rollout_is_threshold';
  const messages = [
    ...(cap > 0 && upper > 0
      ? [
          `${shown('tis_cap', cap)} and ${shown('rollout_is_threshold', upper)} both limit the importance weight. Keep one of them.`,
        ]
      : []),
    ...(lower > 0 && upper === 0
      ? [
          `${shown('rollout_is_threshold_lower', lower)} has no effect without "trainer_common.rollout_is_threshold". Set rollout_is_threshold, or remove it.`,
        ]
      : []),
    ...(level !== 'token' && upper === 0
      ? [`${shown('rollout_is_level', level)} has no effect with ${needsThreshold}, or remove rollout_is_level.`]
      : []),
    ...(mode !== 'mask' && upper === 0 && cap === 0
      ? [`${shown('rollout_is_mode', mode)} has no effect with ${needsThreshold}, or remove rollout_is_mode.`]
      : []),
    ...(upper > 0 && lower >= upper
      ? [
          `${shown('rollout_is_threshold_lower', lower)} is not below ${shown('rollout_is_threshold', upper)}, so hardly any token could be trained. Lower it.`,
        ]
      : []),
  ];
  return messages.map((message) => ({ code: 'conflict', message }));
}

/** Finds settings of the reward, of the KL term and of the aggregation that have no effect, or another one than their name says. */
function findShapeConflicts(
  { rollout, trainer_common: trainer }: CommonYaml,
  locate: (key: string) => string,
): readonly Problem[] {
  const { loss_agg_mode: aggregation, loss_scale_factor: length, overlong_buffer: overlong } = trainer;
  const { use_kl_loss: kl, kl_loss_coef: klCoef, algorithm } = trainer;
  const limit = rollout.max_response_length_in_one_turn;
  const messages = [
    ...(length !== null && aggregation !== 'seq-mean-token-sum-norm'
      ? [
          `"trainer_common.loss_scale_factor" ${length} (${locate('trainer_common.loss_scale_factor')}) has no effect with "trainer_common.loss_agg_mode" ${aggregation}. Remove it, or choose seq-mean-token-sum-norm.`,
        ]
      : []),
    ...(kl && klCoef === 0
      ? [
          `"trainer_common.use_kl_loss" true (${locate('trainer_common.use_kl_loss')}) has no effect with "trainer_common.kl_loss_coef" 0 (${locate('trainer_common.kl_loss_coef')}). Raise the coefficient, or set use_kl_loss to false.`,
        ]
      : []),
    ...(algorithm.use_kl_in_reward && algorithm.kl_coef === 0
      ? [
          `"trainer_common.algorithm.use_kl_in_reward" true (${locate('trainer_common.algorithm.use_kl_in_reward')}) has no effect with "trainer_common.algorithm.kl_coef" 0, but opens the initial model a second time. Raise the coefficient, or set use_kl_in_reward to false.`,
        ]
      : []),
    ...(overlong.len > 0 && overlong.penalty_factor === 0
      ? [
          `"trainer_common.overlong_buffer.len" ${overlong.len} (${locate('trainer_common.overlong_buffer.len')}) has no effect with "trainer_common.overlong_buffer.penalty_factor" 0, because long answers cost nothing. Raise the factor, or set len to 0.`,
        ]
      : []),
    ...(overlong.len > limit
      ? [
          `"trainer_common.overlong_buffer.len" ${overlong.len} (${locate('trainer_common.overlong_buffer.len')}) is more than "rollout.max_response_length_in_one_turn" ${limit}, so every answer would cost something. Lower it to ${limit} or less.`,
        ]
      : []),
  ];
  return messages.map((message) => ({ code: 'conflict', message }));
}

/** The kept tokens are computed again from the weights that a batch begins with, so these must be the weights that sampled. */
function findTruncationConflicts(
  { rollout, trainer_common: { max_staleness: staleness } }: CommonYaml,
  locate: (key: string) => string,
): readonly Problem[] {
  const { temperature, top_p: topP, top_k: topK } = rollout;
  if (staleness === 0 || truncationOf({ temperature, topP, topK }) === undefined) return [];
  const [key, value] = topP < 1 ? ['rollout.top_p', topP] : ['rollout.top_k', topK];
  const message = `"${key}" ${value} (${locate(key)}) cannot be trained with "trainer_common.max_staleness" ${staleness} (${locate('trainer_common.max_staleness')}): the tokens that the sampler kept can only be computed from the weights that a batch begins with. Set max_staleness to 0, or top_p to 1 and top_k to -1.`;
  return [{ code: 'conflict', message }];
}

/** Checks settings of several samplers, and of GPUs that they share with the trainer. */
function findReplicaConflicts(
  { rollout, trainer_common: { n_gpus_per_node: numGpus } }: CommonYaml,
  locate: (key: string) => string,
): readonly Problem[] {
  const { name, num_replicas: replicas, tensor_model_parallel_size: gpusOfEach, colocated } = rollout;
  const key = `"rollout.num_replicas" ${replicas} (${locate('rollout.num_replicas')})`;
  const conflict = (message: string): readonly Problem[] => [{ code: 'conflict', message }];
  if (replicas > 1 && name !== 'vllm')
    return conflict(
      `${key} is for vLLM: the sampler "${name}" runs on each GPU of the trainer by itself. Set it to 1, or "rollout.name" to "vllm".`,
    );
  if (replicas > 1 && colocated && replicas * gpusOfEach > numGpus)
    return conflict(
      `${key} x "rollout.tensor_model_parallel_size" ${gpusOfEach} = ${replicas * gpusOfEach} GPUs, but the trainer that vLLM shares GPUs with has only ${numGpus}. Lower them, raise "trainer_common.n_gpus_per_node", or give vLLM its own GPUs with "rollout.colocated": false.`,
    );
  return [];
}

/** Finds settings that a chosen entry does not support. */
export function findUnsupported(
  config: CommonYaml,
  { registrations, outside }: Entries,
  sourceOf: (key: string) => ConfigSource | undefined,
): readonly Problem[] {
  return allKinds.flatMap((kind) => {
    const { key: nameKey, noun } = kinds[kind];
    const given = String(valueAtKey(config, nameKey));
    const chosen = isExportReference(given) ? outside[kind] : registrations[kind].find(({ name }) => name === given);
    return Object.entries(chosen?.allows ?? {}).flatMap(([key, values]) => {
      const value = valueAtKey(config, key);
      if (chosen === undefined || values.includes(value)) return [];
      const others = registrations[kind].filter(({ allows }) => allows?.[key]?.includes(value) ?? true);
      const source = sourceOf(key);
      const removal = source?.isPreset === true ? 'Use another preset' : 'Remove it';
      const repair =
        others.length === 0
          ? `${removal}.`
          : `${removal}, or use ${nameKey}: ${others.map(({ name }) => name).join(' or ')}.`;
      const message = `"${key}" in ${source?.locate(key) ?? 'the configuration'} is ${showValue(key, value)}, which the ${noun} ${chosen.name} does not have. ${repair}`;
      return [{ code: 'conflict', message }];
    });
  });
}
