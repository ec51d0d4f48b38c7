import path from 'node:path';
import { type CommonConfig, type ConfigComposition, formatCount } from '@agentjet/core';
import type { PreparedModel } from '@agentjet/models';

/** This file resolves `trainer_common.optim.lr: auto`. docs/training.md names the source of each rate. */

const rates = [
  { most: 20e6, full: 3e-4, adapter: 1e-3 },
  { most: 300e6, full: 3e-5, adapter: 1e-3 },
  { most: 1e9, full: 1e-5, adapter: 1e-4 },
  { most: 3e9, full: 3e-6, adapter: 3e-5 },
  { most: Infinity, full: 1e-6, adapter: 1e-5 },
] as const;

/** The rate for the smallest models, and for models of unknown size. */
export const [{ full: smallestModelRate }] = rates;

/** Returns the rate for a model of this size, if all weights are trained or only an adapter (LoRA). */
function autoRate({ numParameters, trainsAdapter }: SizedModel): number {
  if (numParameters === undefined) return smallestModelRate;
  const fitting = rates.find(({ most }) => numParameters <= most) ?? rates[rates.length - 1];
  return (trainsAdapter ? fitting?.adapter : fitting?.full) ?? smallestModelRate;
}

type SizedModel = Pick<PreparedModel, 'numParameters' | 'trainsAdapter'>;

export type RateOptions = {
  readonly model: SizedModel;
  readonly composition: ConfigComposition;
  /** The run to resume, which keeps its rate. Undefined for a new run. */
  readonly runDir: string | undefined;
  readonly onNotice: (message: string) => void;
};

/**
 * Returns the configuration with a number instead of `auto`. The run stores the number, so it keeps its rate when it is
 * resumed.
 */
export function withRate(config: CommonConfig, { model, composition, runDir, onNotice }: RateOptions): CommonConfig {
  if (config.trainerCommon.optim.lr !== 'auto') return config;
  const stored =
    runDir === undefined ? undefined : composition.load(path.join(runDir, 'config.yaml')).trainerCommon.optim.lr;
  const own = autoRate(model);
  const lr = typeof stored === 'number' ? stored : own;
  if (lr !== own) onNotice(storedNotice(lr, own));
  else if (lr !== smallestModelRate) onNotice(rateNotice(lr, model));
  const { trainerCommon } = config;
  return { ...config, trainerCommon: { ...trainerCommon, optim: { ...trainerCommon.optim, lr } } };
}

const storedNotice = (stored: number, own: number): string =>
  `The learning rate is ${stored.toExponential()}, which the run has stored. In a new run of this model, trainer_common.optim.lr: auto is ${own.toExponential()}.`;

function rateNotice(lr: number, { numParameters, trainsAdapter }: SizedModel): string {
  const count = numParameters === undefined ? 'this model' : `a model of ${formatCount(numParameters)} parameters`;
  const size = trainsAdapter ? `an adapter (LoRA) of ${count}` : count;
  return `The learning rate is ${lr.toExponential()}, for ${size} (trainer_common.optim.lr: auto).`;
}
