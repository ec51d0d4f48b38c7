import { defineBackbone, z } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { configuration } from './registrations.js';

function messageOf(input: Parameters<typeof configuration.create>[0]): string {
  try {
    configuration.create(input);
    return '';
  } catch (error) {
    return String(error);
  }
}

describe('settings of the loss that would train something that nobody means are refused, with value and repair', () => {
  it.each([
    [
      { clipRatioC: 0.5 },
      '"trainer_common.clip_ratio_c" in the options given in code is 0.5, but must be 0 (off) or more than 1.',
    ],
    [{ clipRatioC: 1 }, 'is 1, but must be 0 (off) or more than 1.'],
    [{ clipRatioC: -1 }, 'is -1, but must be 0 (off) or more than 1.'],
    [
      { clipRatioLow: 1.5 },
      '"trainer_common.clip_ratio_low" in the options given in code is 1.5, but must be at most 1.',
    ],
    [{ clipRatioLow: -0.2 }, 'is -0.2, but must be at least 0.'],
    [{ clipRatioHigh: -0.2 }, 'is -0.2, but must be at least 0.'],
    [{ klLossCoef: -1 }, 'is -1, but must be at least 0.'],
    [{ entropyCoeff: -1 }, 'is -1, but must be at least 0.'],
    [
      { tisCap: 0.5 },
      '"trainer_common.tis_cap" in the options given in code is 0.5, but must be 0 (off) or at least 1.',
    ],
    [
      { optim: { betas: [0.9, 1] } },
      '"trainer_common.optim.betas" in the options given in code is 1, but must be less than 1.',
    ],
    [{ optim: { lr: 2, weightDecay: 0.5 } }, 'x "trainer_common.optim.weight_decay" 0.5'],
    [
      { miniBatchNum: 17 },
      'divides a batch of "data.train_batch_size" 16 tasks into more parts than it has tasks. Lower it to 16 or less.',
    ],
    [
      { useKlLoss: true, klLossCoef: 0 },
      '"trainer_common.use_kl_loss" true (the options given in code) has no effect with "trainer_common.kl_loss_coef" 0',
    ],
    [
      { algorithm: { useKlInReward: true, klCoef: 0 } },
      'has no effect with "trainer_common.algorithm.kl_coef" 0, but opens the initial model a second time',
    ],
    [{ overlongBuffer: { len: 8, penaltyFactor: 0 } }, 'because long answers cost nothing'],
    [
      { totalTrainingSteps: 5, optim: { lrWarmupSteps: 5 } },
      'leaves no step of "trainer_common.total_training_steps" 5 at the full rate.',
    ],
  ] as const)('%o', (trainerCommon, message) => {
    expect(messageOf({ trainerCommon: trainerCommon as never })).toContain(message);
  });

  it('names temperatures at which rounding decides', () => {
    expect(messageOf({ rollout: { temperature: 1e-4 } })).toContain(
      '"rollout.temperature" in the options given in code is 0.0001, but must be 0 (the likeliest token) or at least 0.01.',
    );
  });

  it.each([
    { clipRatioC: 0 },
    { clipRatioC: 1.01 },
    { clipRatioLow: 1 },
    { tisCap: 1 },
    { optim: { betas: [0, 0] as [number, number] } },
  ])('%o is taken', (trainerCommon) => {
    expect(messageOf({ trainerCommon, backbone: 'torch' })).toBe('');
  });
});

describe('top_p and top_k while training', () => {
  it.each(['tinker', 'verl'] as const)('are refused by name for %s, which trains whole distributions', (backbone) => {
    const cut = `which the backbone ${backbone} does not have. Remove it, or use backbone: onnx`;
    expect(messageOf({ backbone, rollout: { topP: 0.9 } })).toContain(`is 0.9, ${cut}`);
    expect(messageOf({ backbone, rollout: { topK: 5 } })).toContain(`is 5, ${cut}`);
    expect(messageOf({ backbone, rollout: { topK: 0, valKwargs: { topP: 0.9, topK: 5 } } })).toBe('');
  });

  it('are refused for a backbone from outside that does not say that it trains them', () => {
    const backbone = defineBackbone({
      name: 'mine',
      section: z.strictObject({}),
      capabilities: { takes: 'packs', repeatsSeed: true, reportsGradNorm: true, losses: ['policy'], streams: true },
      open: () => Promise.reject(new Error('never opened')),
    });
    expect(backbone.allows).toMatchObject({ 'rollout.top_p': [1] });
  });

  it('are refused with sampling ahead of training, since the weights that kept the tokens are gone then', () => {
    const message = messageOf({ rollout: { topP: 0.9 }, trainerCommon: { maxStaleness: 1 } });
    expect(message).toContain('"rollout.top_p" 0.9');
    expect(message).toContain('Set max_staleness to 0, or top_p to 1 and top_k to -1.');
    expect(messageOf({ rollout: { topK: 3 }, trainerCommon: { maxStaleness: 1 } })).toContain('"rollout.top_k" 3');
    expect(messageOf({ trainerCommon: { maxStaleness: 1 } })).toBe('');
  });
});

it('settings of evaluations are read by their own names', () => {
  const { valKwargs } = configuration.create({ rollout: { valKwargs: { topP: 0.9 } } }).rollout;
  expect(valKwargs).toEqual({ temperature: 0, topP: 0.9, topK: -1 });
});
