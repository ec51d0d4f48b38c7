import type { CommonConfig } from '@agentjet/core';

/** The `lora.alpha: auto` of all but the smallest models, and of models of unknown size. */
export const largeModelAlpha = 16;

/** Trains low-rank adapters instead of all weights (Hu et al. 2021): W + alpha / rank B A. */
export type LoraOptions = {
  readonly rank: number;
  /** The product of A and B is multiplied by alpha / rank. Defaults to 32. */
  readonly alpha?: number;
  /**
   * The layers that get an adapter, by the last parts of their names, or `all-linear` alone. Defaults to the
   * projections of attention and feed-forward.
   */
  readonly targetModules?: readonly string[];
  /** The folder of an adapter in PEFT's layout to begin with. Defaults to a new adapter. */
  readonly start?: string;
};

/** Returns undefined if all weights are trained. A run has replaced `alpha: auto` by the number for its model. */
export function readLora({ lora }: Pick<CommonConfig, 'lora'>): LoraOptions | undefined {
  if (lora.rank === 0) return undefined;
  return {
    rank: lora.rank,
    alpha: lora.alpha === 'auto' ? largeModelAlpha : lora.alpha,
    ...(lora.targetModules === null ? {} : { targetModules: [lora.targetModules].flat() }),
    ...(lora.adapter === null ? {} : { start: lora.adapter }),
  };
}
