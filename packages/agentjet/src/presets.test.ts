import { describePresets } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { configuration as composition } from './registrations.js';

const load = (...overrides: readonly string[]) => composition.load(null, overrides);
const preset = (name: string, ...others: readonly string[]) =>
  load('backbone=torch', `trainer_common.algorithm.adv_estimator=${name}`, ...others);

describe('a preset', () => {
  it.each([
    ['dr_grpo', { lossAggMode: 'seq-mean-token-sum-norm', useKlLoss: false }, { normAdvByStdInGrpo: false }],
    ['rloo', {}, { reinforceBaseline: 'group', whitenAdvantages: false }],
    ['reinforce_plus_plus', {}, { reinforceBaseline: 'none', whitenAdvantages: true }],
    ['dapo', { clipRatioLow: 0.2, clipRatioHigh: 0.28, lossAggMode: 'token-mean', useKlLoss: false }, {}],
    [
      'gspo',
      { lossMode: 'gspo', clipRatioLow: 3e-4, clipRatioHigh: 4e-4, clipRatioC: 0 },
      { normAdvByStdInGrpo: true },
    ],
    ['cispo', { lossMode: 'cispo', clipRatioLow: 1, clipRatioHigh: 4 }, { normAdvByStdInGrpo: true }],
  ])('%s sets the keys that it means', (name, common, algorithm) => {
    const { trainerCommon } = preset(name);
    expect(trainerCommon).toMatchObject(common);
    expect(trainerCommon.algorithm).toMatchObject({ advEstimator: name, ...algorithm });
  });

  it('draws as many further tasks as a batch has', () => {
    expect(preset('dapo', 'data.train_batch_size=24').rollout.refillGroups).toBe(24);
  });

  it('gives way to what the user writes, and says so', () => {
    const config = preset('dapo', 'trainer_common.clip_ratio_high=0.3');
    expect(config.trainerCommon.clipRatioHigh).toBe(0.3);
    const [line = ''] = describePresets(config, composition.registrations);
    expect(line).toContain('adv_estimator "dapo" sets ');
    expect(line).toContain('trainer_common.clip_ratio_low=0.2');
    expect(line).toContain('The configuration overrides it: trainer_common.clip_ratio_high=0.3 instead of 0.28.');
  });

  it('stays the same when its run is read again', () => {
    const config = preset('dr_grpo', 'trainer_common.use_kl_loss=true');
    const again = composition.create(config);
    expect(composition.compare(config, again)).toEqual([]);
  });

  it.each(['gspo', 'cispo'])('%s is accepted by a backbone that computes its loss in two passes', (name) => {
    const overrides = ['backbone=onnx', `trainer_common.algorithm.adv_estimator=${name}`];
    expect(load(...overrides).trainerCommon.lossMode).toBe(name);
  });

  it('of no algorithm leaves every key as it is', () => {
    expect(describePresets(load(), composition.registrations)).toEqual([]);
  });
});

describe('a name of another trainer', () => {
  it.each([
    ['trainer_common.algorithm.adv_estimator=reinforce++', 'Use "reinforce_plus_plus".'],
    ['trainer_common.algorithm.adv_estimator=gae', 'It trains a critic, which AgentJet does not have.'],
    ['trainer_common.algorithm.adv_estimator=remax', 'Use "rloo"'],
    ['rollout.n=8', 'Use "rollout.num_repeat".'],
    ['trainer_common.optim.warmup_ratio=0.1', 'Use "trainer_common.optim.lr_warmup_steps_ratio".'],
    ['data.filter_overlong_prompts=true', '"data.overlong_sample_policy"'],
    ['trainer_common.beta=0.04', 'Use "trainer_common.kl_loss_coef".'],
    ['trainer_common.beta=0.5', 'For distillation use "trainer_common.algorithm.distill.beta".'],
    ['trainer_common.learning_rate=1e-5', 'Use "trainer_common.optim.lr".'],
  ])('%s is answered', (override, answer) => {
    expect(() => load(override)).toThrow(answer);
  });

  it('does not hide a key that is only in the wrong section', () => {
    expect(() => load('rollout.max_steps=4')).toThrow('Did you mean "rollout.multi_turn.max_steps"?');
  });
});
