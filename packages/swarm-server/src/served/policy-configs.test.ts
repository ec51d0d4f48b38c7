import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ConfigComposition, JsonObject } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { createConfig, testComposition } from '@agentjet/inputs/testing';
import { createPolicyConfigs } from './policy-configs.js';

const composition = testComposition as unknown as ConfigComposition;
const create = (policies: JsonObject, more: JsonObject = {}) =>
  createConfig({ swarm: { policies: policies as never, ...more }, data: { trainBatchSize: 4 } });
const configsOf = (policies: JsonObject, more?: JsonObject) => createPolicyConfigs(create(policies, more), composition);

const planner = { trainableTargets: ['planner'] };
const worker = { trainableTargets: ['worker', 'checker'] };

type Attachable = { readonly torch: { readonly launch: string; readonly numNodes: number } };

describe('policies of a configuration', () => {
  it('are one, if none is named', () => {
    expect(configsOf({})).toMatchObject([{ name: 'default', config: { data: { trainBatchSize: 4 } } }]);
  });

  it('have the configuration of the run, with what is their own', () => {
    const own = { ...worker, trainerCommon: { optim: { lr: 3e-4 } }, data: { trainBatchSize: 8 } };
    const found = configsOf({ planner, worker_two: own });
    expect(found.map(({ name }) => name)).toEqual(['planner', 'worker_two']);
    expect(
      found.map(({ config }) => [config.data.trainBatchSize, config.trainableTargets, config.swarm.policies]),
    ).toEqual([
      [4, ['planner'], {}],
      [8, ['worker', 'checker'], {}],
    ]);
    expect(found[1]?.config.trainerCommon.optim.lr).toBe(3e-4);
  });

  it.each([
    ['one alone', { planner }, /two policies or more/],
    ['the name of runs with one', { default: planner, worker }, /without a policy named "default"/],
    ['a name that every object has', { constructor: planner, worker }, /names such as planner/],
    ['a strange name', { Planner: planner, worker }, /names such as planner/],
    ['no agents', { planner: {}, worker }, /swarm\.policies\.planner names no agents\. Add trainable_targets/],
    ['an agent of two', { planner, worker: { trainableTargets: ['planner'] } }, /"planner" belongs to two policies/],
    [
      'the name of a target of another',
      { planner: { trainableTargets: ['worker'] }, worker: { trainableTargets: ['planner'] } },
      /is a policy, and a target of the policy/,
    ],
    ['an unknown key', { planner: { ...planner, modle: {} }, worker }, /"modle" in swarm\.policies\.planner/],
    [
      'what concerns the run',
      { planner, worker: { ...worker, rollout: { numRepeat: 3 } } },
      /swarm\.policies\.worker sets rollout\.num_repeat, which concerns the whole run/,
    ],
  ])('refuse %s', (_name, policies, message) => {
    expect(() => configsOf(policies as JsonObject)).toThrow(message);
  });

  it('find the model of a policy next to the YAML file, and may each have another backbone', () => {
    const dir = mkdtempSync(path.join(tmpdir(), 'policies-'));
    try {
      mkdirSync(path.join(dir, 'models/small'), { recursive: true });
      const file = path.join(dir, 'two.yaml');
      const worker =
        'trainable_targets: [worker], backbone: torch, torch: { launch: attach, num_nodes: 2, listen_port: 7000 }';
      const planner = 'trainable_targets: [planner], model: { path: models/small }';
      writeFileSync(
        file,
        `ajet:\n  model: { path: nano }\n  swarm:\n    policies:\n      planner: { ${planner} }\n      worker: { ${worker} }\n`,
      );
      const found = createPolicyConfigs(composition.load(file), composition);
      expect(found.map(({ config: { model, backbone } }) => [model.path, backbone])).toEqual([
        [path.join(dir, 'models/small'), 'onnx'],
        ['nano', 'torch'],
      ]);
      expect(found.map(({ config }) => (config as unknown as Attachable).torch)).toMatchObject([
        { launch: 'local' },
        { launch: 'attach', numNodes: 2, listenPort: 7000 },
      ]);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  it('refuse steps that clients ask for', () => {
    expect(() => configsOf({ planner, worker }, { sampleCollection: 'any_client_asks' })).toThrow(/one policy only/);
  });
});
