import { defineBackbone, setting, z } from '@agentjet/core';
import { embeddedCapabilities } from '../capabilities.js';

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
  }),
  freeOnResume: ['num_threads'],
  capabilities: embeddedCapabilities,
  loadEstimate: async () => (await import('./estimate-need.js')).estimateEmbedded,
  async open({ numThreads }, { config, modelDir, optimizer }) {
    const [{ createOnnxBackbone }, { readLora }] = await Promise.all([
      import('./create-onnx-backbone.js'),
      import('../lora-options.js'),
    ]);
    const lora = readLora(config);
    return createOnnxBackbone({
      modelDir,
      seed: config.trainerCommon.seed,
      threads: numThreads,
      contextLength: config.rollout.maxModelLen,
      ...(optimizer === undefined ? { train: false } : { optimizer }),
      ...(lora !== undefined && { lora }),
    });
  },
});
