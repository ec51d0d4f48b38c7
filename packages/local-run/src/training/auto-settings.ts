import path from 'node:path';
import { type CommonConfig, type ConfigComposition, formatCount } from '@agentjet/core';
import type { PreparedModel } from '@agentjet/models';
import { largeModelAlpha, readAdapterScale } from '@agentjet/trainer';

/**
 * This file resolves `trainer_common.optim.lr: auto` and `lora.alpha: auto`. docs/training.md names the source of each
 * number.
 */

const sizes = [
  { most: 20e6, full: 3e-4, adapter: 1e-3, alpha: 32 },
  { most: 300e6, full: 3e-5, adapter: 1e-3, alpha: largeModelAlpha },
  { most: 1e9, full: 5e-6, adapter: 1e-4, alpha: largeModelAlpha },
  { most: 3e9, full: 3e-6, adapter: 3e-5, alpha: largeModelAlpha },
  { most: Infinity, full: 1e-6, adapter: 1e-5, alpha: largeModelAlpha },
] as const;

/** The rate for the smallest models, and for models of unknown size. */
export const [{ full: smallestModelRate }] = sizes;

type SizedModel = Pick<PreparedModel, 'numParameters' | 'trainsAdapter'>;

type Resolved = { readonly lr: number; readonly alpha: number };

/** Returns the settings for a model of this size, if all weights are trained or only an adapter (LoRA). */
function settingsFor({ numParameters, trainsAdapter }: SizedModel): Resolved {
  const fitting = numParameters === undefined ? undefined : sizes.find(({ most }) => numParameters <= most);
  if (fitting === undefined) return { lr: smallestModelRate, alpha: largeModelAlpha };
  return { lr: trainsAdapter ? fitting.adapter : fitting.full, alpha: fitting.alpha };
}

export type AutoOptions = {
  readonly model: SizedModel;
  readonly composition: ConfigComposition;
  /** The run to resume, which keeps its numbers. Undefined for a new run. */
  readonly runDir: string | undefined;
  readonly onNotice: (message: string) => void;
};

/**
 * Returns the configuration with numbers instead of `auto`. The run stores the numbers, so it keeps them when it is
 * resumed.
 */
export function withAutoSettings(config: CommonConfig, options: AutoOptions): CommonConfig {
  const { trainerCommon, lora } = config;
  if (trainerCommon.optim.lr !== 'auto' && lora.alpha !== 'auto') return config;
  const { model, onNotice } = options;
  const ofAdapter = readAdapter(lora.adapter);
  const own = { ...settingsFor(model), ...ofAdapter };
  const resolved = { ...own, ...readStored(options) };
  for (const notice of describeSettings(config, { model, ofAdapter, own, resolved })) onNotice(notice);
  const { lr, alpha } = resolved;
  const optim = { ...trainerCommon.optim, lr: trainerCommon.optim.lr === 'auto' ? lr : trainerCommon.optim.lr };
  return {
    ...config,
    lora: { ...lora, alpha: lora.alpha === 'auto' ? alpha : lora.alpha },
    trainerCommon: { ...trainerCommon, optim },
  };
}

/** Training that begins with an adapter keeps its alpha. The backbone refuses an adapter with another alpha. */
function readAdapter(dir: string | null): Partial<Resolved> {
  const { alpha = 0 } = (dir === null ? undefined : readAdapterScale(dir)) ?? {};
  return alpha > 0 ? { alpha } : {};
}

function readStored({ composition, runDir }: AutoOptions): Partial<Resolved> {
  if (runDir === undefined) return {};
  const { trainerCommon, lora } = composition.load(path.join(runDir, 'config.yaml'));
  const { lr } = trainerCommon.optim;
  return { ...(lr !== 'auto' && { lr }), ...(lora.alpha !== 'auto' && { alpha: lora.alpha }) };
}

type Choice = {
  readonly model: SizedModel;
  readonly ofAdapter: Partial<Resolved>;
  /** The numbers of a new run. */
  readonly own: Resolved;
  readonly resolved: Resolved;
};

/** Names the numbers that are unusual: other than those of the smallest models, or than those of a new run. */
function describeSettings(
  { trainerCommon, lora }: CommonConfig,
  { model, ofAdapter, own, resolved: { lr, alpha } }: Choice,
): readonly string[] {
  const size = describeSize(model);
  const notices: string[] = [];
  if (trainerCommon.optim.lr === 'auto' && (lr !== own.lr || lr !== smallestModelRate))
    notices.push(
      lr === own.lr
        ? `The learning rate is ${lr.toExponential()}, for ${model.trainsAdapter ? `an adapter (LoRA) of ${size}` : size} (trainer_common.optim.lr: auto).`
        : `The learning rate is ${lr.toExponential()}, which the run has stored. In a new run of this model, trainer_common.optim.lr: auto is ${own.lr.toExponential()}.`,
    );
  if (lora.alpha === 'auto' && lora.rank > 0 && (alpha !== own.alpha || alpha !== largeModelAlpha))
    notices.push(
      alpha === own.alpha
        ? `The adapter's alpha is ${alpha}, ${ofAdapter.alpha === undefined ? `for ${size}` : `that of ${lora.adapter}`} (lora.alpha: auto).`
        : `The adapter's alpha is ${alpha}, which the run has stored. In a new run of this model, lora.alpha: auto is ${own.alpha}.`,
    );
  return notices;
}

const describeSize = ({ numParameters }: SizedModel): string =>
  numParameters === undefined ? 'this model' : `a model of ${formatCount(numParameters)} parameters`;
