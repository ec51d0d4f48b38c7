/**
 * The frequency scaling of Llama 3.1 and later. A GGUF file has its factors, one for each pair of a head, and
 * config.json has its settings.
 */

export type Llama3Scaling = {
  readonly factor: number;
  readonly lowFrequencyFactor: number;
  readonly highFrequencyFactor: number;
  readonly originalContextLength: number;
};

type Rotation = { readonly theta: number; readonly headDim: number };

/** Returns the factor by which each wavelength is stretched. The formula is from transformers' llama3 rope. */
export function llama3Factors(scaling: Llama3Scaling, { theta, headDim }: Rotation): Float32Array {
  const { factor, lowFrequencyFactor: low, highFrequencyFactor: high, originalContextLength: length } = scaling;
  return Float32Array.from({ length: headDim / 2 }, (_, index) => {
    const wavelength = 2 * Math.PI * theta ** ((2 * index) / headDim);
    if (wavelength < length / high) return 1;
    if (wavelength > length / low) return factor;
    const smooth = (length / wavelength - low) / (high - low);
    return 1 / ((1 - smooth) / factor + smooth);
  });
}

/** Finds the settings that give these factors, or undefined. Published models share all settings except `factor`. */
export function findLlama3Scaling(factors: Float32Array, rotation: Rotation): Llama3Scaling | undefined {
  const scaling = {
    factor: Math.max(...factors),
    lowFrequencyFactor: 1,
    highFrequencyFactor: 4,
    originalContextLength: 8192,
  };
  const expected = llama3Factors(scaling, rotation);
  const isSame = (value: number, index: number): boolean => Math.abs(value / (expected[index] ?? 0) - 1) < 1e-4;
  return factors.length === expected.length && factors.every(isSame) ? scaling : undefined;
}
