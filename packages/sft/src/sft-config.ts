import type { CommonConfig } from '@agentjet/core';
import { heldOutFigure } from './sft-records.js';

const suffix = '-sft';

type Given = Pick<CommonConfig, 'experimentName' | 'sft' | 'trainerCommon'>;

/**
 * Adapts a configuration for reinforcement learning to imitation: one pass over each batch, no clipping and no
 * reference model. The run folder stores the adapted configuration. The two kinds of runs have different experiment
 * names, so `--resume` never resumes a run of the other kind.
 */
export function toSftInput({ experimentName, sft, trainerCommon }: Given) {
  const { keepBest } = trainerCommon;
  return {
    experimentName: experimentName.endsWith(suffix) ? experimentName : `${experimentName}${suffix}`,
    teacher: { model: null },
    trainerCommon: {
      algorithm: { advEstimator: 'sft', whitenAdvantages: false, useKlInReward: false },
      maskTruncatedCompletions: false,
      overlongBuffer: { len: 0 },
      miniBatchNum: 1,
      ppoEpochs: 1,
      maxStaleness: 0,
      lossMode: 'ppo',
      tisCap: 0,
      rolloutIsThreshold: 0,
      rolloutIsThresholdLower: 0,
      rolloutIsLevel: 'token',
      rolloutIsMode: 'mask',
      useKlLoss: false,
      entropyCoeff: 0,
      ...(sft.epochs === 'auto' && keepBest === null && { keepBest: heldOutFigure }),
      ...(sft.lr !== null && { optim: { lr: sft.lr } }),
    },
  } as const;
}
