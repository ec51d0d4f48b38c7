import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRandom, type Backbone, type Sample, type Teacher, type TreePack } from '@agentjet/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOnnxBackbone } from '../../backbones/embedded/create-onnx-backbone.js';
import { askTeacher, scoreMetrics } from '../../loop/ask-teacher.js';
import type { TrainingGroup } from '../../loop/training-group.js';
import { createRandomSamples } from '../../testing/random-samples.js';
import { writeRandomModelFolder } from '../../testing/random-model-folder.js';
import { createGrpo } from '../grpo/grpo.js';
import { createDistill } from './distill.js';
import { distill } from './registration.js';
import { tinyConfig } from '../../testing/tiny-config.js';

const configJson = tinyConfig({
  vocab_size: 11,
  hidden_size: 8,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  intermediate_size: 16,
  max_position_embeddings: 128,
});

let model: Backbone;
const asked: TreePack[] = [];
let teacher: Teacher;

beforeAll(async () => {
  const modelDir = await mkdtemp(path.join(tmpdir(), 'teacher-'));
  await writeRandomModelFolder(modelDir, { configJson, seed: 3 });
  model = await createOnnxBackbone({ modelDir, train: false, isInThread: true, threads: 1 });
  teacher = {
    takes: 'packs',
    termLogprobs: async (packs, temperature) => {
      asked.push(...packs);
      return (await model.termLogprobs?.(packs, temperature)) ?? [];
    },
    close: () => model.close(),
  };
});

afterAll(() => teacher.close());

const toGroup = (samples: readonly Sample[], rewards: readonly number[] = []): TrainingGroup => ({
  groupId: 'g',
  episodes: samples.map((sample, index) => ({
    episodeId: `e${index}`,
    reward: rewards[index] ?? 0,
    samples: [{ ...sample, episodeId: `e${index}` }],
  })),
});

const samplesOf = (groups: readonly TrainingGroup[]): readonly Sample[] =>
  groups.flatMap(({ episodes }) => episodes.flatMap(({ samples }) => samples));

function softmax(logits: readonly number[]): readonly number[] {
  const sum = logits.reduce((total, logit) => total + Math.exp(logit), 0);
  return logits.map((logit) => Math.exp(logit) / sum);
}

const kl = (from: readonly number[], to: readonly number[]): number =>
  from.reduce((sum, p, token) => sum + p * Math.log(p / (to[token] ?? 0)), 0);

/** The generalized Jensen-Shannon divergence over beta * (1 - beta), and its limits: the forward and the reverse KL. */
function divergence(student: readonly number[], teacherProbs: readonly number[], beta: number): number {
  if (beta === 0) return kl(teacherProbs, student);
  if (beta === 1) return kl(student, teacherProbs);
  const mixture = student.map((p, token) => beta * (teacherProbs[token] ?? 0) + (1 - beta) * p);
  return (beta * kl(teacherProbs, mixture) + (1 - beta) * kl(student, mixture)) / (beta * (1 - beta));
}

/** The slope of `value` along one logit, from two values in double precision. */
function slopeAt(logits: readonly number[], index: number, value: (logits: readonly number[]) => number): number {
  const at = (step: number): number => value(logits.map((logit, k) => (k === index ? logit + step : logit)));
  return (at(1e-4) - at(-1e-4)) / 2e-4;
}

const sampleOf = (ids: readonly number[], trained: number): Sample => ({
  episodeId: 'e',
  agentName: 'agent',
  targetTag: 'agent',
  ids: Int32Array.from(ids),
  lossMask: Uint8Array.from(ids, (_, t) => (t >= ids.length - trained ? 1 : 0)),
  logprobs: Float32Array.from(ids, (_, t) => (t >= ids.length - trained ? -0.5 : 0)),
  policyVersions: Int32Array.from(ids, () => 0),
  advantages: new Float32Array(ids.length),
});

describe('a teacher', () => {
  it('scores every sampled token as it would score its row', async () => {
    const samples = createRandomSamples(createRandom(1), { numRows: 9, maxLength: 9, vocabSize: 11, numEpisodes: 9 });
    const scored = samplesOf(await askTeacher([toGroup(samples)], teacher, { temperature: 1, maxPackTokens: 40 }));
    const expected = await model.logprobs(samples);
    scored.forEach(({ lossMask, teacherLogprobs = new Float32Array() }, row) => {
      for (const [t, value] of teacherLogprobs.entries())
        expect(value).toBeCloseTo(lossMask[t] === 1 ? (expected[row]?.[t] ?? Number.NaN) : 0, 5);
    });
  });

  it('computes the tokens that samples share once', async () => {
    const prompt = [1, 2, 3, 4, 5, 6];
    const group = toGroup([
      sampleOf([...prompt, 7, 8], 2),
      sampleOf([...prompt, 7, 9], 2),
      sampleOf([...prompt, 3], 1),
    ]);
    asked.length = 0;
    await askTeacher([group], teacher, { temperature: 1, maxPackTokens: 4096 });
    expect(asked.map(({ ids }) => ids.length)).toEqual([prompt.length + 4]);
  });

  it('scores a token at the temperature that it was sampled at', async () => {
    const plain = sampleOf([1, 2, 3], 1);
    const hot = { ...plain, temperatures: Float32Array.of(0, 0, 2) };
    const at = async (sample: Sample, temperature: number) => {
      const [scored] = samplesOf(await askTeacher([toGroup([sample])], teacher, { temperature, maxPackTokens: 64 }));
      return scored?.teacherLogprobs?.[2];
    };
    expect(await at(hot, 1)).toBe(await at(plain, 2));
    expect(await at(hot, 1)).not.toBe(await at(plain, 1));
  });

  it.each([Number.NaN, -Infinity])('is refused if it gives %d', async (logprob) => {
    const broken: Teacher = {
      takes: 'packs',
      termLogprobs: async (packs) => packs.map(({ terms }) => new Float32Array(terms.pair.length).fill(logprob)),
      close: async () => undefined,
    };
    const asking = askTeacher([toGroup([sampleOf([1, 2, 3], 1)])], broken, { temperature: 1, maxPackTokens: 64 });
    await expect(asking).rejects.toMatchObject({
      code: 'bad_teacher_answer',
      message: expect.stringContaining(`gave ${logprob} as a logprob`),
    });
  });

  it('asks in the same order however the episodes finished', async () => {
    const random = createRandom(5);
    const groups = ['a', 'b', 'c'].map((groupId): TrainingGroup => {
      const options = { numRows: 3, maxLength: 8, vocabSize: 11, numEpisodes: 3 };
      const samples = createRandomSamples(random, options);
      const episodes = samples.map((sample, place) => {
        const episodeId = `${groupId}${place}`;
        return { episodeId, place, reward: 0, samples: [{ ...sample, episodeId }] };
      });
      return { groupId, episodes };
    });
    const late = groups.toReversed().map((group) => ({ ...group, episodes: group.episodes.toReversed() }));
    const rowsFor = async (given: readonly TrainingGroup[]): Promise<readonly (readonly number[])[]> => {
      asked.length = 0;
      await askTeacher(given, teacher, { temperature: 1, maxPackTokens: 24 });
      return asked.map(({ ids }) => [...ids]);
    };
    expect(await rowsFor(late)).toEqual(await rowsFor(groups));
  });
});

describe('distill', () => {
  const openConfig = (len = 0) => ({
    teacher: { model: 'nano' },
    rollout: { numRepeat: 1 },
    trainerCommon: { overlongBuffer: { len } },
  });
  const scored = {
    ...sampleOf([1, 2, 3, 4], 3),
    logprobs: Float32Array.of(0, -1, -0.5, -2),
    teacherLogprobs: Float32Array.of(0, -0.25, -9, -1),
  };
  const advantagesOf = (options: Parameters<typeof createDistill>[0], rewards: readonly number[] = []): number[] => {
    const [first] = createDistill(options).credit(toGroup([scored, scored], rewards));
    return [...(first?.advantages ?? [])];
  };

  it('gives each token log teacher - log student, within the limits', () => {
    expect(advantagesOf({})).toEqual([0, 0.75, -8.5, 1]);
    expect(advantagesOf({ klPenaltyCoef: 2, clipMin: -5, clipMax: 0.875 })).toEqual([0, 1.5, -10, 1.75]);
  });

  it.each([0, 0.5, 1])('learns nothing from a teacher that differs by rounding alone, with beta %d', (beta) => {
    const equal = { ...scored, teacherLogprobs: scored.logprobs.map((logprob) => logprob + 5e-5) };
    const [credited] = createDistill({ beta }).credit(toGroup([equal]));
    expect([...(credited?.advantages ?? [])]).toEqual([0, 0, 0, 0]);
  });

  it('gives forward KL and Jensen-Shannon divergences other advantages', () => {
    expect(advantagesOf({ beta: 0 })[1]).toBeCloseTo(Math.exp(0.75) - 1, 6);
    expect(advantagesOf({ beta: 0.5 })[2]).toBeCloseTo(2 * Math.log((1 + Math.exp(-8.5)) / 2), 6);
    expect(advantagesOf({ beta: 0, clipMin: -0.5, clipMax: 1 }).slice(1)).toEqual([1, -0.5, 1]);
  });

  it.each([0, 0.1, 0.5, 0.9, 1])('follows the negative gradient of the divergence with beta %d', (beta) => {
    const logits = [0.3, -1.2, 2, -0.4, 0.9];
    const teacherOfToken = softmax([1.5, 0.2, -0.7, -2, 1]);
    const student = softmax(logits);
    const advantages = student.map((p, token) => {
      const sample = { ...sampleOf([0, token], 1), logprobs: Float32Array.of(0, Math.log(p)) };
      const teacherLogprobs = Float32Array.of(0, Math.log(teacherOfToken[token] ?? 0));
      const [credited] = createDistill({ beta }).credit(toGroup([{ ...sample, teacherLogprobs }]));
      return credited?.advantages[1] ?? Number.NaN;
    });
    const mean = student.reduce((sum, p, token) => sum + p * (advantages[token] ?? 0), 0);
    student.forEach((p, token) => {
      const ascent = p * ((advantages[token] ?? 0) - mean);
      const slope = slopeAt(logits, token, (moved) => divergence(softmax(moved), teacherOfToken, beta));
      expect(ascent).toBeCloseTo(-slope, 5);
    });
  });

  it('takes divergence, weight and limits from its settings', async () => {
    const section = { klPenaltyCoef: 2, beta: 0, rewardCoef: 0, advClipMin: -0.5, advClipMax: 5 };
    const algorithm = await distill.open(section, { config: openConfig() as never });
    const [first] = algorithm.credit(toGroup([scored]));
    expect(first?.advantages[1]).toBeCloseTo(2 * (Math.exp(0.75) - 1), 6);
    expect(first?.advantages[2]).toBe(-1);
  });

  it.each([
    [{ klPenaltyCoef: 0 }, 0, 'neither the teacher nor the rewards teach anything'],
    [{}, 8, '"trainer_common.overlong_buffer.len" is 8, which changes rewards'],
    [{ rewardCoef: 0.5 }, 0, 'reward_coef" is 0.5, and "rollout.num_repeat" is 1'],
  ])('refuses %j with a buffer of %d tokens', async (change, len, message) => {
    const section = { klPenaltyCoef: 1, beta: 1, rewardCoef: 0, advClipMin: null, advClipMax: null, ...change };
    const open = async (): Promise<unknown> => distill.open(section, { config: openConfig(len) as never });
    await expect(open()).rejects.toThrow(message);
  });

  it('adds the advantages of the rewards with their weight', () => {
    const rewards = { algorithm: createGrpo({ normalizeByStd: false }), weight: 0.5 };
    expect(advantagesOf({ rewards }, [1, 0])).toEqual([0, 1, -8.25, 1.25]);
  });

  it('learns from groups whose rewards are all equal, and refuses samples without scores', () => {
    expect(advantagesOf({}, [1, 1]).some((value) => value !== 0)).toBe(true);
    expect(() => createDistill().credit(toGroup([sampleOf([1, 2], 1)]))).toThrow('needs teacherLogprobs');
  });

  it('reports log student - log teacher as teacher_kl', () => {
    expect(scoreMetrics([toGroup([scored])], 'teacher_kl')).toEqual({ teacher_kl: (-0.75 + 8.5 - 1) / 3 });
    expect(scoreMetrics([toGroup([sampleOf([1, 2], 1)])], 'teacher_kl')).toEqual({});
  });
});
