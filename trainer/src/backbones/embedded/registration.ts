import { defineBackbone, setting, z } from '@agentjet/core';
import { embeddedCapabilities } from '../capabilities.js';

/** `backbone: onnx`: samples and trains on the CPU of this machine. Nothing native is loaded before it is opened. */
export const onnx = defineBackbone({
  name: 'onnx',
  summary: 'trains on this CPU',
  section: z.strictObject({
    num_threads: setting(
      z.int().min(0).max(256),
      0,
      '0: as many as there are cores, at most 8; the last digits of figures depend on it',
    ),
  }),
  freeOnResume: ['num_threads'],
  capabilities: embeddedCapabilities,
  allows: { 'trainer_common.loss_mode': ['ppo'], 'trainer_common.tis_cap': [0], 'lora.rank': [0] },
  loadEstimate: async () => (await import('./estimate-need.js')).estimateEmbedded,
  async open({ numThreads }, { config, modelDir, optimizer }) {
    const { createOnnxBackbone } = await import('./create-onnx-backbone.js');
    return createOnnxBackbone({
      modelDir,
      seed: config.trainerCommon.seed,
      threads: numThreads,
      contextLength: config.rollout.maxModelLen,
      ...(optimizer === undefined ? { train: false } : { optimizer }),
    });
  },
});
