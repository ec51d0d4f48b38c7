import { initialWeights } from '../backbones/embedded/training/model/initial-weights.js';
import { parseModelConfig } from '../backbones/embedded/training/model/model-config.js';
import { parameterLayout } from '../backbones/embedded/training/model/parameter-layout.js';
import { writeModelFolder } from '../model-files/model-folder.js';

/** Writes a freshly initialised model without a tokenizer, for benchmarks and for tests that use token ids directly. */
export async function writeRandomModelFolder(
  dir: string,
  options: { readonly configJson: { readonly [key: string]: unknown }; readonly seed: number },
): Promise<void> {
  const config = parseModelConfig(options.configJson);
  const layout = parameterLayout(config);
  const weights = initialWeights(config, layout, { seed: options.seed });
  const tensors = layout.parameters.map(({ name, shape, offset, size }) => ({
    name,
    shape,
    data: weights.subarray(offset, offset + size),
  }));
  await writeModelFolder(dir, { config: options.configJson, tensors });
}
