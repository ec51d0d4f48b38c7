/** Computes the angles of rotary position embeddings in double precision. */

import { power } from '../../../power.js';
import type { ModelConfig, RopeConfig } from './model-config.js';

/** cos and sin of position p at frequency i are at [p * headDim / 2 + i]. */
export type RopeTables = { readonly numPositions: number; readonly cos: Float64Array; readonly sin: Float64Array };

export function ropeTables(config: ModelConfig, numPositions: number): RopeTables {
  const frequencies = ropeFrequencies(config);
  const [cos, sin] = [
    new Float64Array(numPositions * frequencies.length),
    new Float64Array(numPositions * frequencies.length),
  ];
  for (let position = 0; position < numPositions; position++) {
    for (const [index, frequency] of frequencies.entries()) {
      cos[position * frequencies.length + index] = Math.cos(position * frequency);
      sin[position * frequencies.length + index] = Math.sin(position * frequency);
    }
  }
  return { numPositions, cos, sin };
}

/** Shape [headDim / 2], radians per position: theta^(-2i / headDim), scaled if the model says so. */
export function ropeFrequencies({ headDim, rope }: ModelConfig): readonly number[] {
  const plain = Array.from({ length: headDim / 2 }, (_, index) => power(rope.theta, (-2 * index) / headDim));
  const { llama3 } = rope;
  return llama3 === undefined ? plain : plain.map((frequency) => scaleAsLlama3(frequency, llama3));
}

/**
 * Llama 3.1 multiplies wavelengths beyond the original context by `factor` and does not change short ones. For
 * wavelengths between the two, the scaling is interpolated linearly in the number of turns per original context.
 */
function scaleAsLlama3(frequency: number, llama3: NonNullable<RopeConfig['llama3']>): number {
  const turns = (llama3.originalContextLength * frequency) / (2 * Math.PI);
  const { factor, lowFrequencyFactor, highFrequencyFactor } = llama3;
  if (turns < lowFrequencyFactor) return frequency / factor;
  if (turns > highFrequencyFactor) return frequency;
  const share = (turns - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor);
  return ((1 - share) * frequency) / factor + share * frequency;
}
