import { defineBackbone, setting, z, type CommonConfig } from '@agentjet/core';
import { embeddedCapabilities, gpuKeys } from '../capabilities.js';

/**
 * With `backbone: onnx` this process samples and trains on the CPU of this machine. No native code is loaded before the
 * backbone is opened.
 */
export const onnx = defineBackbone({
  name: 'onnx',
  summary: 'trains on this CPU',
  section: z.strictObject({
    num_threads: setting(
      z.int().min(0).max(256),
      0,
      'threads; 0: one per core, at most 8; the last digits of figures depend on this number',
    ),
    frozen_weights: setting(
      z.enum(['float32', 'float16', 'int8']),
      'float32',
      'format of weights that no step changes: the model under an adapter (lora.rank above 0), a teacher, or a model that only answers. float32 | float16: half the memory | int8: a quarter, and faster sampling, whose logprobs differ slightly from those in training',
    ),
  }),
  freeOnResume: ['num_threads'],
  ignores: gpuKeys,
  capabilities: embeddedCapabilities,
  loadEstimate: async () => (await import('./estimate-need.js')).estimateEmbedded,
  async open({ numThreads, frozenWeights: ofFrozen }, { config, modelDir, optimizer, notice }) {
    const [{ createOnnxBackbone }, { readLora }, { opensTeacher }] = await Promise.all([
      import('./create-onnx-backbone.js'),
      import('../lora-options.js'),
      import('../needs/teacher-need.js'),
    ]);
    const lora = readLora(config);
    const trainsAll = optimizer !== undefined && lora === undefined;
    const frozenWeights = trainsAll && opensTeacher(config) ? 'float32' : ofFrozen;
    if (frozenWeights === 'int8') notice(int8Notice(optimizer !== undefined, config.trainerCommon));
    return createOnnxBackbone({
      modelDir,
      seed: config.trainerCommon.seed,
      threads: numThreads,
      frozenWeights,
      contextLength: config.rollout.maxModelLen,
      ...(optimizer === undefined ? { train: false } : { optimizer }),
      ...(lora !== undefined && { lora }),
    });
  },
});

/** The first lines of a run with weights in int8. */
function int8Notice(trains: boolean, { tisCap, rolloutIsThreshold }: CommonConfig['trainerCommon']): string {
  const repeats = 'The weights are in int8 (onnx.frozen_weights), so results do not repeat to the last digit.';
  if (!trains) return repeats;
  const gap =
    'The sampler also rounds activations, and each step shows by how much its logprobs differ (logprob_gap_mean).';
  const isCorrected = tisCap > 0 || rolloutIsThreshold > 0;
  return `${repeats} ${gap}${isCorrected ? '' : ' trainer_common.tis_cap: 2 corrects the gradient for this difference.'}`;
}
