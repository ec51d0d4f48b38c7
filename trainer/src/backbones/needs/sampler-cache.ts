import type { NeedRequest } from '@agentjet/core';
import type { ModelShape } from './model-shape.js';

/**
 * The rule of our Python sampler (`trainer/torch/ajet_torch/sampling/slots.py`). Its slots fill a share of the GPU,
 * within a minimum and a maximum number of slots.
 */
const gpuShare = 1 / 12;
const fewestSlots = 8;
const mostSlots = 256;
const slotsOnCpu = 64;

/**
 * Returns the bytes of the keys and values that our Python sampler keeps. `width` is the number of bytes of a number;
 * `gpuBytes` is null on a CPU.
 */
export function samplerCacheBytes(
  { numLayers, keyValueWidth, contextLength }: ModelShape,
  { maxModelLen, maxNumSeqs }: Pick<NeedRequest['config']['rollout'], 'maxModelLen' | 'maxNumSeqs'>,
  { width, gpuBytes }: { readonly width: number; readonly gpuBytes: number | null },
): number {
  const slotBytes = numLayers * keyValueWidth * Math.min(maxModelLen, contextLength) * width;
  const fitting = gpuBytes === null ? slotsOnCpu : Math.floor((gpuBytes * gpuShare) / slotBytes);
  return slotBytes * (maxNumSeqs ?? Math.max(fewestSlots, Math.min(mostSlots, fitting)));
}
