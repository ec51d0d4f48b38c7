import { readFileSync } from 'node:fs';
import path from 'node:path';
import { composeConfig, sumParts, type NeedRequest } from '@agentjet/core';
import { expect, it } from 'vitest';
import { estimateTorch } from '../torch/estimate-need.js';
import { estimateVerl } from './estimate-need.js';
import { verl } from './registration.js';

const gib = 2 ** 30;
const h200 = { count: 1, bytes: 140 * gib, name: 'NVIDIA H200' };
const composition = composeConfig({
  backbones: [verl],
});

const qwen = (hidden: number, layers: number, heads: number, inner: number, vocab = 151_936) => ({
  model_type: 'qwen2',
  hidden_size: hidden,
  num_hidden_layers: layers,
  num_attention_heads: heads,
  num_key_value_heads: 2,
  intermediate_size: inner,
  vocab_size: vocab,
  tie_word_embeddings: true,
  max_position_embeddings: 2048,
});
const shapes = { nano: qwen(96, 4, 4, 256, 640), '0.5B': qwen(896, 24, 14, 4864), '1.5B': qwen(1536, 28, 12, 8960) };

function request(
  model: keyof typeof shapes,
  given: Partial<NeedRequest> = {},
  config: { readonly trainerCommon?: object; readonly rollout?: object } = {},
): NeedRequest {
  return {
    config: composition.create({
      ...config,
      data: { trainBatchSize: 16, maxPromptLength: 384, maxResponseLength: 256 },
      rollout: { numRepeat: 8, ...config.rollout },
    }),
    section: {},
    model: shapes[model],
    trains: true,
    cores: 16,
    gpus: h200,
    ...given,
  };
}

type Measured = { readonly model: keyof typeof shapes; readonly trained: boolean; readonly peak_mib: number };
const kept = JSON.parse(
  readFileSync(path.resolve(import.meta.dirname, '../../../torch/bench/results/backbones.json'), 'utf8'),
) as { readonly verl_memory: { readonly rows: readonly Measured[] } };

it.each(kept.verl_memory.rows.filter(({ trained }) => !trained))(
  'predicts what $model took on an H200 before its first step',
  ({ model, peak_mib: peak }) => {
    const need = estimateVerl(request(model, { trains: false }));
    expect(need.place).toBe('gpu');
    expect(sumParts(need.parts) / (peak * 2 ** 20)).toBeGreaterThan(0.95);
    expect(sumParts(need.parts) / (peak * 2 ** 20)).toBeLessThan(1.15);
  },
);

it('says no less than nano took in training', () => {
  const trained = kept.verl_memory.rows.find(({ trained: was }) => was);
  expect(sumParts(estimateVerl(request('nano')).parts)).toBeGreaterThan((trained?.peak_mib ?? Infinity) * 2 ** 20);
});

const bytesOf = (need: ReturnType<typeof estimateVerl>, name: string): number =>
  need.parts.find((part) => part.name === name)?.bytes ?? 0;

it('divides the states among the workers, and not the copy that samples', () => {
  const [one, four] = [1, 4].map((nGpusPerNode) =>
    estimateVerl(request('1.5B', { gpus: { ...h200, count: nGpusPerNode } }, { trainerCommon: { nGpusPerNode } })),
  );
  if (one === undefined || four === undefined) throw new Error('no estimates');
  expect(bytesOf(four, 'states of training')).toBeCloseTo(bytesOf(one, 'states of training') / 4);
  expect(bytesOf(four, "the sampler's copy of the weights")).toBe(bytesOf(one, "the sampler's copy of the weights"));
});

it('shards over all nodes, or within each', () => {
  const states = (shardOver: string): number =>
    bytesOf(estimateVerl(request('1.5B', { section: { numNodes: 4, shardOver } })), 'states of training');
  expect(states('node')).toBeCloseTo(4 * states('all'));
});

it('keeps less with layers that are computed again, and no states on the GPU when they are offloaded', () => {
  const plain = estimateVerl(request('1.5B'));
  const again = estimateVerl(request('1.5B', { section: { activationCheckpointing: true } }));
  const offloaded = estimateVerl(request('1.5B', { section: { cpuOffload: true } }));
  expect(bytesOf(again, 'activations')).toBeLessThan(bytesOf(plain, 'activations') / 2);
  expect(bytesOf(offloaded, 'states of training')).toBe(0);
});

it('counts all workers of a machine without GPUs, in float32', () => {
  const onCpu = (nGpusPerNode: number): number =>
    sumParts(estimateVerl(request('nano', { gpus: null }, { trainerCommon: { nGpusPerNode } })).parts);
  expect(estimateVerl(request('nano', { gpus: null })).place).toBe('host');
  expect(onCpu(2)).toBeGreaterThan(onCpu(1) + 1e9);
});

it('says the seconds of a step: on a CPU, and on a GPU longer than the torch backbone, which shares prompts', () => {
  const onTorch = estimateTorch({ ...request('1.5B'), section: {} }).stepSeconds ?? Number.NaN;
  expect(estimateVerl(request('1.5B')).stepSeconds).toBeGreaterThan(1.5 * onTorch);
  expect(estimateVerl(request('nano', { gpus: null, cores: 2 })).stepSeconds).toBeGreaterThan(0);
  expect(estimateVerl(request('nano', { trains: false }))).toMatchObject({ stepSeconds: null });
});

it.each([null, h200])('counts memory and time of a teacher on %o', (gpus) => {
  const [alone, taught] = [{}, { teacher: shapes['1.5B'] }].map((given) =>
    estimateVerl(request('0.5B', { gpus, ...given })),
  );
  expect(alone?.parts.map(({ name }) => name)).not.toContain('teacher');
  const bytes = taught?.parts.find(({ name }) => name === 'teacher')?.bytes ?? 0;
  expect(bytes).toBeGreaterThan((gpus === null ? 8 : 6) * 1.5e9); // masters, and the sampler's copy
  expect(sumParts(taught?.parts ?? []) - sumParts(alone?.parts ?? [])).toBeCloseTo(bytes, -3);
  expect(taught?.stepSeconds).toBeGreaterThan(1.2 * (alone?.stepSeconds ?? Infinity));
});

it.each([
  ['torch', estimateTorch],
  ['verl', estimateVerl],
])('of %s assumes that as many episodes run at the same time as in the first step', (_name, estimate) => {
  const secondsOf = (rollout: object): number =>
    estimate(request('0.5B', { gpus: null }, { rollout })).stepSeconds ?? 0;
  expect(secondsOf({})).toBe(secondsOf({ maxEnvWorker: 128 }));
  expect(secondsOf({})).toBeLessThan(secondsOf({ maxEnvWorker: 64 }));
});
