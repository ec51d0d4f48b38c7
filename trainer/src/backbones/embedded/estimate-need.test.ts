import { composeConfig, sumParts, type JsonObject, type NeedRequest, type ResourceNeed } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { estimateEmbedded } from './estimate-need.js';
import { onnx } from './registration.js';

const composition = composeConfig({
  backbones: [onnx],
});
const base = { model_type: 'llama', tie_word_embeddings: true, vocab_size: 49_152, num_key_value_heads: 2 };
const shapes = {
  nano: {
    model_type: 'qwen2',
    hidden_size: 96,
    num_hidden_layers: 4,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    intermediate_size: 256,
    vocab_size: 640,
    tie_word_embeddings: true,
    max_position_embeddings: 2048,
  },
  '30M': { ...base, hidden_size: 384, num_hidden_layers: 8, num_attention_heads: 6, intermediate_size: 1024 },
  '135M': {
    ...base,
    hidden_size: 576,
    num_hidden_layers: 30,
    num_attention_heads: 9,
    num_key_value_heads: 3,
    intermediate_size: 1536,
  },
  '0.5B': {
    ...base,
    model_type: 'qwen2',
    hidden_size: 896,
    num_hidden_layers: 24,
    num_attention_heads: 14,
    intermediate_size: 4864,
    vocab_size: 151_936,
    max_position_embeddings: 32_768,
  },
} satisfies Readonly<Record<string, JsonObject>>;

type Work = { readonly groups: number; readonly episodes: number; readonly prompt: number; readonly answer: number };

function requestOf(
  model: JsonObject,
  { groups, episodes, prompt, answer }: Work,
  more: Partial<NeedRequest> & { readonly kl?: boolean } = {},
): NeedRequest {
  const { kl = false, ...rest } = more;
  const config = composition.create({
    data: { trainBatchSize: groups, maxPromptLength: prompt, maxResponseLength: answer },
    rollout: { numRepeat: episodes, maxModelLen: prompt + answer, maxResponseLengthInOneTurn: answer },
    trainerCommon: { maxPackTokens: prompt + episodes * answer, useKlLoss: kl },
  });
  return { config, section: {}, model, trains: true, cores: 2, gpus: null, ...rest };
}

const peakOf = ({ fullPackBytes, parts }: ResourceNeed): number => fullPackBytes ?? sumParts(parts);

describe('memory of the embedded backbone', () => {
  // Peaks of processes in MB, from `npm run bench -- memory`.
  it.each([
    ['nano', { groups: 2, episodes: 4, prompt: 100, answer: 50 }, true, false, 275.1],
    ['nano', { groups: 8, episodes: 8, prompt: 1024, answer: 100 }, true, false, 880.8],
    ['nano', { groups: 2, episodes: 1, prompt: 1024, answer: 1024 }, true, true, 959.4],
    ['30M', { groups: 2, episodes: 1, prompt: 256, answer: 256 }, true, false, 1717.7],
    ['30M', { groups: 4, episodes: 1, prompt: 128, answer: 128 }, true, true, 2073.6],
    ['30M', { groups: 3, episodes: 8, prompt: 512, answer: 107 }, true, false, 2817.5],
    ['30M', { groups: 1, episodes: 1, prompt: 1536, answer: 512 }, true, false, 3168.6],
    ['30M', { groups: 4, episodes: 4, prompt: 512, answer: 107 }, false, false, 791.3],
    ['135M', { groups: 2, episodes: 1, prompt: 256, answer: 256 }, true, false, 5721.5],
    ['135M', { groups: 3, episodes: 8, prompt: 512, answer: 107 }, true, false, 9167.5],
    ['135M', { groups: 1, episodes: 1, prompt: 1536, answer: 512 }, true, false, 12_031.3],
    ['135M', { groups: 4, episodes: 4, prompt: 512, answer: 107 }, false, false, 2139.9],
    ['0.5B', { groups: 2, episodes: 4, prompt: 512, answer: 16 }, false, false, 7231.4],
  ] as const)(
    'is at least the measured peak, and at most a fifth more: %s, %o',
    (model, work, trains, kl, megabytes) => {
      const ratio = peakOf(estimateEmbedded(requestOf(shapes[model], work, { trains, kl }))) / (megabytes * 1e6);
      expect(ratio).toBeGreaterThanOrEqual(1);
      expect(ratio).toBeLessThanOrEqual(1.2);
    },
  );

  it('says of 0.5B what killed the process on 24 GiB: a tree of 512 + 8 x 107 tokens', () => {
    const work = { groups: 3, episodes: 8, prompt: 512, answer: 107 };
    expect(peakOf(estimateEmbedded(requestOf(shapes['0.5B'], work)))).toBeGreaterThan(21.8e9);
    expect(peakOf(estimateEmbedded(requestOf(shapes['0.5B'], work, { trains: false })))).toBeLessThan(9e9);
  });

  it('grows with the longest sample, up to what the model allows', () => {
    const work = { groups: 4, episodes: 8, prompt: 1024, answer: 1024 };
    const at = (longestSample: number): number =>
      sumParts(estimateEmbedded(requestOf(shapes['30M'], work, { longestSample })).parts);
    expect(at(512)).toBeLessThan(at(1024));
    expect(at(1024)).toBeLessThan(at(2048));
    expect(at(4096)).toBe(at(2048));
    const short = { ...shapes['30M'], max_position_embeddings: 512 };
    expect(sumParts(estimateEmbedded(requestOf(short, work)).parts)).toBeLessThan(at(1024));
  });
});

it('counts the parameters of the shapes', () => {
  const work = { groups: 1, episodes: 1, prompt: 8, answer: 8 };
  const count = (model: JsonObject): number => estimateEmbedded(requestOf(model, work)).numParameters / 1e6;
  expect(count(shapes['30M'])).toBeCloseTo(31.46, 1);
  expect(count(shapes['135M'])).toBeCloseTo(134.5, 1);
  expect(count(shapes['0.5B'])).toBeCloseTo(494, 0);
});

it('expects a step of 135M with 64 answers of 150 tokens to take minutes on two cores, as was measured', () => {
  const work = { groups: 8, episodes: 8, prompt: 512, answer: 150 };
  const { stepSeconds } = estimateEmbedded(requestOf(shapes['135M'], work));
  expect(stepSeconds).toBeGreaterThan(131 / 1.5); // 38 s of sampling and 93 s of training
  expect(stepSeconds).toBeLessThan(131 * 1.5);
});

it('counts gradients, moments and checkpoint of an adapter only', () => {
  const request = requestOf(shapes['135M'], { groups: 3, episodes: 8, prompt: 512, answer: 107 }, { kl: true });
  const lora = { ...request.config.lora, rank: 16 };
  const [whole, adapted] = [request, { ...request, config: { ...request.config, lora } }].map(estimateEmbedded);
  // All seven projections of 30 layers have A and B of rank 16.
  const numTrained = 16 * 30 * (2 * (576 + 576) + 2 * (576 + 192) + 3 * (576 + 1536));
  expect(adapted?.checkpointBytes).toBe(3 * 4 * numTrained);
  const [bytesOfWhole, bytesOfAdapted] = [whole, adapted].map((need) =>
    Object.fromEntries((need?.parts ?? []).map(({ name, bytes }) => [name, bytes])),
  );
  expect(bytesOfAdapted).toMatchObject({ weights: bytesOfWhole?.['weights'], adapter: 18 * 4 * numTrained });
  for (const name of ['gradients', 'moments', 'gradient copies']) {
    expect(bytesOfWhole).toHaveProperty([name]);
    expect(bytesOfAdapted).not.toHaveProperty([name]);
  }
  expect(bytesOfAdapted?.['reference']).toBeLessThan((bytesOfWhole?.['reference'] ?? NaN) - 4 * 134e6);
  // The logits of a frozen head are in memory in chunks.
  expect(bytesOfAdapted?.['activations']).toBeLessThan(bytesOfWhole?.['activations'] ?? NaN);
  expect(adapted?.trainingSeconds).toBeCloseTo((2 / 3) * (whole?.trainingSeconds ?? 0), 6);
  const unknown = { ...request, config: { ...request.config, lora: { ...lora, targetModules: ['lm_head'] } } };
  expect(() => estimateEmbedded(unknown)).toThrow('"lm_head", which the onnx backbone cannot adapt');
});

it('refuses a shape that the engine does not have', () => {
  const request = requestOf(
    { ...shapes['30M'], model_type: 'gemma3' },
    { groups: 1, episodes: 1, prompt: 8, answer: 8 },
  );
  expect(() => estimateEmbedded(request)).toThrow('"model_type" of config.json is "gemma3"');
});

it('counts the weights and the forward pass of a teacher', () => {
  const work = { groups: 4, episodes: 8, prompt: 384, answer: 256 };
  const [alone, taught] = [requestOf(shapes.nano, work), requestOf(shapes.nano, work, { teacher: shapes['135M'] })].map(
    (request) => estimateEmbedded(request),
  );
  const teacher = taught?.parts.find(({ name }) => name === 'teacher')?.bytes ?? 0;
  expect(teacher).toBeGreaterThan(4 * 134e6);
  expect(sumParts(taught?.parts ?? []) - sumParts(alone?.parts ?? [])).toBeCloseTo(teacher, -3);
  const stored = estimateEmbedded(
    requestOf(shapes.nano, work, { teacher: shapes['135M'], section: { frozenWeights: 'int8' } }),
  );
  const ofStored = stored.parts.find(({ name }) => name === 'teacher')?.bytes ?? 0;
  expect(ofStored).toBeLessThan(0.6 * teacher);
  expect(sumParts(stored.parts) - ofStored).toBeCloseTo(sumParts(alone?.parts ?? []), -3);
  expect(taught?.stepSeconds).toBeGreaterThan(2 * (alone?.stepSeconds ?? Infinity));
  expect(taught?.numParameters).toBe(alone?.numParameters);
});
