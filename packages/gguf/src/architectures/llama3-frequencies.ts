/** The frequency scaling of Llama 3.1 and later: a GGUF file has its factors, one for each pair of a head; config.json has its settings. */

export type Llama3Scaling = {
  readonly factor: number;
  readonly lowFrequencyFactor: number;
  readonly highFrequencyFactor: number;
  readonly originalContextLength: number;
};

type Rotation = { readonly theta: number; readonly headDim: number };

/** The factor by which each wavelength is stretched. The formula is from transformers' llama3 rope. */
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

/** The settings that published models have; only the factor differs. Undefined if they do not give these factors. */
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
