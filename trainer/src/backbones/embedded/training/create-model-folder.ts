import { writeModelFolder } from '../../../model-files/model-folder.js';
import { type InitialWeightsOptions, initialWeights } from './model/initial-weights.js';
import { parseModelConfig } from './model/model-config.js';
import { countParameters, parameterLayout } from './model/parameter-layout.js';

export type NewModelOptions = InitialWeightsOptions & {
  /** The config.json of transformers, in the Qwen2, Qwen3 or Llama shape. */
  readonly config: { readonly [key: string]: unknown };
  /** The folder to take tokenizer and template files from. */
  readonly companionsFrom?: string;
};

/**
 * Writes a model folder with random weights for training from nothing, and returns the number of weights. Rejects with
 * BackboneError `unsupported_model` or `checkpoint`.
 */
export async function createModelFolder(
  dir: string,
  { config: json, companionsFrom, ...weightOptions }: NewModelOptions,
): Promise<{ readonly numParameters: number }> {
  const config = parseModelConfig(json);
  const layout = parameterLayout(config);
  const weights = initialWeights(config, layout, weightOptions);
  const tensors = layout.parameters.map(({ name, shape, offset, size }) => ({
    name,
    shape,
    data: weights.subarray(offset, offset + size),
  }));
  await writeModelFolder(dir, { config: json, tensors, ...(companionsFrom !== undefined && { companionsFrom }) });
  return { numParameters: countParameters(layout) };
}
