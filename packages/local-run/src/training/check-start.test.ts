import type { CommonConfig } from '@agentjet/core';
import { expect, it } from 'vitest';
import { testComposition } from '@agentjet/inputs/testing';
import { checkKeepBest, checkServedStart, checkStart, checkStopOnCollapse } from './check-start.js';

const load = (...overrides: readonly string[]) => testComposition.load(null, overrides) as CommonConfig;
const credit = () => [];
const start = (config: CommonConfig, leastEpisodes = 2) =>
  checkStart(config, { algorithm: { name: 'grpo', leastEpisodes, credit }, composition: testComposition as never });

it('refuses groups of one episode if the algorithm compares them', () => {
  expect(() => start(load('rollout.num_repeat=1'))).toThrow('"rollout.num_repeat" is 1');
  const grpo = { algorithm: { name: 'grpo', leastEpisodes: 2, credit }, composition: testComposition as never };
  expect(checkServedStart(load('rollout.num_repeat=1'), grpo)).toEqual([expect.stringContaining('nothing is learned')]);
  expect(start(load('rollout.num_repeat=1'), 1)).toEqual([]);
  expect(start(load('rollout.num_repeat=2'))).toEqual([]);
});

it.each([
  [
    'rollout.refill_groups=2',
    /"rollout.refill_groups" is 2, and neither a swarm nor a run of several policies draws tasks/,
  ],
  ['rollout.straggler_patience=9', /"rollout.straggler_patience" is 9, and a step waits for each of its groups/],
])('refuses %s for a swarm that would not honour it', (setting, message) => {
  const grpo = { algorithm: { name: 'grpo', leastEpisodes: 2, credit }, composition: testComposition as never };
  const config = load(setting, 'swarm.order=drawn');
  expect(() => checkServedStart(config, grpo)).toThrow(message);
  expect(start(config)).toEqual([]);
});

it('takes rollout.straggler_patience for a swarm with a pool', () => {
  const grpo = { algorithm: { name: 'grpo', leastEpisodes: 2, credit }, composition: testComposition as never };
  expect(checkServedStart(load('rollout.straggler_patience=9'), grpo)).toEqual([]);
});

it.each([
  ['swarm.sample_collection=enough_episodes', 'Set it to enough_tasks'],
  ['rollout.oversubscribe=2', 'Set it to 1'],
  ['swarm.shares=[{name: a, part: 0.5}, {name: b, part: 0.5}]', 'Remove the shares'],
])('a configuration with swarm.order drawn does not take %s', (setting, repair) => {
  expect(() => load('swarm.order=drawn', setting)).toThrow(`${repair}, or set swarm.order to pool.`);
});

it('says that several greedy episodes of a task do not measure pass@n', () => {
  expect(start(load('trainer_common.val_pass_n=4'))).toEqual([
    expect.stringContaining('rollout.val_kwargs.temperature is 0'),
  ]);
  expect(start(load('trainer_common.val_pass_n=4', 'rollout.val_kwargs.temperature=1'))).toEqual([]);
});

it('says that k1 as a loss does not keep the model', () => {
  expect(start(load('trainer_common.use_kl_loss=true', 'trainer_common.kl_loss_type=kl'))).toEqual([
    expect.stringContaining('the gradient of the estimate k1 is 0 on average'),
  ]);
  expect(start(load('trainer_common.kl_loss_type=kl')).join()).not.toContain('k1');
});

it('says that the ratio of a whole answer needs a narrow clip range', () => {
  expect(start(load('trainer_common.loss_mode=gspo'))).toEqual([
    expect.stringMatching(/^trainer_common.loss_mode is gspo, and the clip range is 0.2 and 0.2, which suits/),
  ]);
  const narrow = ['trainer_common.clip_ratio_low=3e-4', 'trainer_common.clip_ratio_high=4e-4'];
  expect(start(load('trainer_common.loss_mode=gspo', ...narrow))).toEqual([]);
});

it('says that a conversation may be longer than a sample, which ends the run', () => {
  const shorter = ['data.max_prompt_length=512', 'data.max_response_length=128'];
  expect(start(load(...shorter))).toEqual([
    expect.stringMatching(/may have 2048 tokens .* more than 640 ends the run/),
  ]);
  expect(start(load(...shorter, 'rollout.max_model_len=640'))).toEqual([]);
  expect(start(load(...shorter, 'data.overlong_sample_policy=truncate'))).toEqual([]);
});

it('refuses keep_best if nothing is evaluated', () => {
  const best = 'trainer_common.keep_best=success_rate';
  const off = load(best, 'trainer_common.val_before_train=false');
  expect(() => checkKeepBest(off, 10)).toThrow('so that nothing is evaluated');
  expect(() => checkKeepBest(load(best), 0)).toThrow('there are no evaluation tasks');
  expect(() => checkKeepBest(load(best), 10)).not.toThrow();
  expect(() => checkKeepBest(load(best), undefined)).not.toThrow();
  expect(() => checkKeepBest(load(), 0)).not.toThrow();
});

it('refuses stop_on_collapse if no evaluation can show a collapse', () => {
  const stop = 'trainer_common.stop_on_collapse=true';
  expect(() => checkStopOnCollapse(load(stop), 10)).toThrow('"trainer_common.test_freq" is 0');
  const evaluated = load(stop, 'trainer_common.test_freq=5');
  expect(() => checkStopOnCollapse(evaluated, 0)).toThrow('there are no evaluation tasks');
  expect(() => checkStopOnCollapse(evaluated, 10)).not.toThrow();
  expect(() => checkStopOnCollapse(evaluated, undefined)).not.toThrow();
  expect(() => checkStopOnCollapse(load(), 0)).not.toThrow();
});

it.each([
  'loss_mode=gspo',
  'use_kl_loss=true',
  'algorithm.use_kl_in_reward=true',
  'entropy_coeff=0.1',
  'tis_cap=2',
  'rollout_is_threshold=2',
  'overlong_buffer.len=8',
])('refuses trainer_common.%s if answers are imitated', (setting) => {
  const parts = { algorithm: { name: 'sft', loss: 'sft', credit }, composition: testComposition as never } as const;
  const config = load(`trainer_common.${setting}`);
  const [key = ''] = setting.split('=');
  for (const check of [checkStart, checkServedStart])
    expect(() => check(config, parts)).toThrow(`"trainer_common.${key}" is`);
  expect(checkStart(load(), parts)).toEqual([]);
});

it.each([
  [
    ['trainer_common.kl_loss_coef=0.1'],
    'This setting has no effect: trainer_common.kl_loss_coef 0.1 (trainer_common.use_kl_loss is false).',
  ],
  [
    ['trainer_common.algorithm.kl_penalty=mse'],
    'kl_penalty "mse" (trainer_common.algorithm.use_kl_in_reward is false)',
  ],
  [['trainer_common.overlong_buffer.penalty_factor=2'], 'penalty_factor 2 (trainer_common.overlong_buffer.len is 0)'],
  [
    ['lora.alpha=8', 'lora.target_modules=all-linear'],
    'lora.alpha 8 (lora.rank is 0), lora.target_modules "all-linear" (lora.rank is 0)',
  ],
  [
    ['trainer_common.loss_mode=cispo', 'trainer_common.clip_ratio_c=5'],
    'clip_ratio_c 5 (trainer_common.loss_mode is "cispo")',
  ],
  [['rollout.name=vllm'], 'rollout.name "vllm" (the backbone onnx does not read it)'],
  [['backbone=tinker', 'trainer_common.n_gpus_per_node=8'], 'n_gpus_per_node 8 (the backbone tinker does not read it)'],
  [['backbone=verl', 'rollout.colocated=false'], 'rollout.colocated false (the backbone verl does not read it)'],
])('says that %j has no effect', (overrides, notice) => {
  expect(start(load(...overrides))).toEqual([expect.stringContaining(notice)]);
});

it.each([
  ['trainer_common.use_kl_loss=true', 'trainer_common.kl_loss_coef=0.1'],
  ['lora.rank=4', 'lora.alpha=8'],
  ['backbone=torch', 'rollout.name=vllm', 'trainer_common.n_gpus_per_node=8'],
  ['backbone=verl', 'rollout.max_num_seqs=8', 'trainer_common.n_gpus_per_node=8'],
])('says nothing about settings that have an effect: %s %s', (...overrides) => {
  expect(start(load(...overrides))).toEqual([]);
});

const distill = { name: 'distill', needsTeacher: true, credit };

it.each([
  [distill, [], '"teacher.model" is null'],
  [{ name: 'grpo', credit }, ['teacher.model=nano'], 'the algorithm "grpo" does not learn from a teacher'],
  [{ name: 'grpo', credit }, ['teacher.base_url=http://x/v1'], 'so no teacher is asked'],
  [
    distill,
    ['teacher.model=nano', 'teacher.server=tinker'],
    '"teacher.server" is tinker, and "teacher.base_url" is null',
  ],
  [distill, ['teacher.model=nano', 'rollout.refill_groups=2'], '"rollout.refill_groups" is 2'],
])('refuses a teacher that is missing or has no effect', (algorithm, overrides, message) => {
  const parts = { algorithm, composition: testComposition as never };
  expect(() => checkStart(load(...overrides), parts)).toThrow(message);
});

it('accepts a teacher in an ordinary run, and refuses it in a swarm', () => {
  const parts = { algorithm: distill, composition: testComposition as never };
  expect(checkStart(load('teacher.model=nano'), parts)).toEqual([]);
  expect(() => checkServedStart(load('teacher.model=nano'), parts)).toThrow('neither a swarm nor a run of several');
  const grpo = { ...parts, algorithm: { name: 'grpo', credit } };
  expect(() => checkServedStart(load('teacher.model=nano'), grpo)).toThrow('"grpo" does not learn from a teacher');
});
