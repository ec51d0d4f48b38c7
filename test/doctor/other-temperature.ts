import type { Backbone } from '@agentjet/core';
import { createOnnxBackbone } from '@agentjet/trainer';
import { defineBackbone, z } from 'agentjet';

/** Trains on this CPU, and samples hotter than it is asked to. Sampler and trainer then disagree about the tokens. */
export const otherTemperature = defineBackbone({
  name: 'other_temperature',
  summary: 'samples hotter than it is asked to',
  section: z.strictObject({}),
  capabilities: {
    takes: 'packs',
    repeatsSeed: true,
    reportsGradNorm: true,
    losses: ['policy', 'sft', 'kl', 'entropy'],
    streams: true,
  },
  async open(_section, { config, modelDir, optimizer }) {
    const backbone = await createOnnxBackbone({
      modelDir,
      seed: config.trainerCommon.seed,
      threads: 0,
      contextLength: config.rollout.maxModelLen,
      ...(optimizer === undefined ? { train: false } : { optimizer }),
    });
    const engine: Backbone['engine'] = {
      ...backbone.engine,
      generate: (request) =>
        backbone.engine.generate({
          ...request,
          sampling: { ...request.sampling, temperature: 1.8 * request.sampling.temperature },
        }),
    };
    return new Proxy(backbone, {
      get: (target, name) => {
        if (name === 'engine') return engine;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  },
});
