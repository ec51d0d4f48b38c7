import type { CommonConfig } from '@agentjet/core';

const suffix = '-sft';

/**
 * What imitation changes in a configuration that was written for reinforcement learning, as it is written into the run folder:
 * one pass over each batch, no clipping and no reference model. Its runs are kept apart, so that `--resume` of one kind never
 * takes up a run of the other.
 */
export function toSftInput({ experimentName, sft }: Pick<CommonConfig, 'experimentName' | 'sft'>) {
  return {
    experimentName: experimentName.endsWith(suffix) ? experimentName : `${experimentName}${suffix}`,
    trainerCommon: {
      algorithm: { advEstimator: 'sft', whitenAdvantages: false },
      miniBatchNum: 1,
      ppoEpochs: 1,
      maxStaleness: 0,
      lossMode: 'ppo',
      tisCap: 0,
      useKlLoss: false,
      entropyCoeff: 0,
      ...(sft.lr !== null && { optim: { lr: sft.lr } }),
    },
  } as const;
}
