import { mergeJson } from '@agentjet/core';
import { toSftInput } from '@agentjet/sft';
import { expect, it } from 'vitest';
import { configuration, type ConfigInput } from './registrations.js';

it.each([
  { rolloutIsThreshold: 5, rolloutIsThresholdLower: 0.5 },
  { rolloutIsThreshold: 2, rolloutIsLevel: 'sequence', rolloutIsMode: 'truncate' },
  { tisCap: 2, lossMode: 'gspo', overlongBuffer: { len: 8 } },
  { useKlLoss: true, algorithm: { useKlInReward: true } },
  { lossAggMode: 'seq-mean-token-sum-norm', lossScaleFactor: 128 },
] as const)('`ajet sft` takes the configuration of a run with %j', (trainerCommon) => {
  const config = configuration.create({ trainerCommon });
  const { trainerCommon: own } = configuration.create(mergeJson(config, toSftInput(config)) as ConfigInput);
  expect(own).toMatchObject({ algorithm: { advEstimator: 'sft' }, rolloutIsThreshold: 0, tisCap: 0, lossMode: 'ppo' });
});
