import { defineBackbone, setting, z } from '@agentjet/core';
import { gpuKeys, tinkerCapabilities } from '../capabilities.js';
import { profileNames, wires } from './profiles.js';

/**
 * With `backbone: tinker`, a server that implements the Tinker API trains and samples. Nothing has to be installed on
 * this machine.
 */

const text = z.string().min(1);

export const tinker = defineBackbone({
  name: 'tinker',
  summary: 'trains on a server with the Tinker API',
  section: z.strictObject({
    base_url: setting(text.nullable(), null, 'such as http://trainer.cluster:8000; null: the hosted service'),
    api_key: setting(text.nullable(), null, 'null: the environment variable TINKER_API_KEY; the key is never written', {
      isSecret: true,
    }),
    base_model: setting(
      text.nullable(),
      null,
      "the server's name of the model of model.path; null: the server must serve exactly one",
      { isPlain: true },
    ),
    profile: setting(z.enum(profileNames), 'auto', `the kind of server: ${profileNames.join(' | ')}`),
    wire: setting(
      z.enum(wires),
      'auto',
      'form of the rows in requests: auto: as the profile says, or as the server takes them | json | protobuf',
    ),
    rank: setting(z.int().min(0).max(1024), 32, 'rank of the adapter; 0: all weights, if the server trains them'),
    checkpoint: setting(
      z.enum(['adapter', 'merged']),
      'adapter',
      'what a checkpoint downloads: adapter: as the server serves it | merged: merged into the weights of model.path',
    ),
    keep_state_every: setting(
      z.int().min(1).max(1_000_000),
      1,
      'optimizer steps between two states kept on the server; after a loss the model continues from the last one',
    ),
  }),
  freeOnResume: ['base_url', 'api_key', 'profile', 'wire', 'checkpoint', 'keep_state_every'],
  capabilities: tinkerCapabilities,
  ignores: gpuKeys,
  readsWeights: false,
  loadEstimate: async () => {
    const { readModelShape } = await import('../needs/model-shape.js');
    return ({ model, section }) => ({
      numParameters: readModelShape(model).numParameters,
      trainsAdapter: section['rank'] !== 0,
      place: 'none',
      parts: [],
      fullPackBytes: null,
      stepSeconds: null,
      timeUnknown: 'it depends on the server',
    });
  },
  allows: {
    'trainer_common.entropy_coeff': [0],
    'lora.rank': [0],
    'rollout.temperature': [1],
  },
  async open(
    { baseUrl, apiKey, baseModel, profile, wire, rank, checkpoint, keepStateEvery },
    { config, modelDir, optimizer, signal, notice },
  ) {
    const { createTinkerBackbone } = await import('./create-tinker-backbone.js');
    return await createTinkerBackbone({
      baseUrl,
      apiKey,
      baseModel,
      profile,
      rank,
      wire,
      checkpoint,
      keepStateEvery,
      usesKl: config.trainerCommon.useKlLoss && config.trainerCommon.klLossCoef > 0,
      modelDir,
      seed: config.trainerCommon.seed,
      contextLength: config.rollout.maxModelLen,
      notice,
      ...(optimizer && { optimizer }),
      ...(signal && { signal }),
    });
  },
});
