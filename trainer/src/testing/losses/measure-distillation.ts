import type { Sample, Teacher, TreePack } from '@agentjet/core';
import { embeddedCapabilities } from '../../backbones/capabilities.js';
import { createDistill } from '../../algorithms/distill/distill.js';
import type { OnnxModel } from '../../backbones/embedded/training/onnx-model.js';
import { askTeacher } from '../../loop/ask-teacher.js';
import { packFor } from '../../packing/pack-for.js';
import { openSmallModel, type OpenSubject } from './loss-subjects.js';
import { distance, lossOf, readGradient, referenceGradient } from './measure-loss-case.js';

const prompt = [3, 5];
const vocabSize = 11;
const teacherSeed = 2;
const onPolicy = { loss: { clipLow: 0.2, clipHigh: 0.2, dualClip: 0 } };

/**
 * Compares the gradient that `distill` trains with the gradient of the reverse KL in double precision. The samples are
 * all answers of two tokens, each with its probability as the weight, so the mean over samples is the exact
 * expectation. They share their tokens in trees if the backbone takes trees. A teacher of the embedded backbone scores
 * them. Without a subject, the embedded backbone trains. Returns the norm of the difference over the norm of the
 * reference's gradient.
 */
export async function measureDistillation(subject?: OpenSubject): Promise<number> {
  const [exact, exactTeacher] = [openSmallModel('float64'), openSmallModel('float64', teacherSeed)];
  const [plain, teacher] = [openSmallModel('float32'), openSmallModel('float32', teacherSeed)];
  const { backbone, temperature } = subject ?? { backbone: undefined, temperature: 0.8 };
  try {
    const answers = await withLogprobs(allAnswers(), exact, temperature);
    const scored = createDistill().credit(toGroup(await askedOf(answers, teacher, temperature)));
    const takes = backbone?.capabilities.takes ?? 'packs';
    const packs = weighByProbability(scored, takes);
    const before = Float64Array.from(exact.parameters);
    const wanted = await reverseKlGradient(exact, exactTeacher, packs, temperature);
    const batch = { packs, loss: lossOf(onPolicy, temperature, backbone?.capabilities ?? embeddedCapabilities) };
    if (subject !== undefined) return distance(await readGradient(subject, before, batch), wanted);
    await plain.trainStep(batch);
    return distance(plain.gradients, wanted);
  } finally {
    await Promise.all([exact, exactTeacher, plain, teacher].map((model) => model.close()));
  }
}

function allAnswers(): readonly Sample[] {
  const ids = Array.from({ length: vocabSize }, (_, id) => id);
  return ids.flatMap((first) => ids.map((second) => toSample([...prompt, first, second])));
}

function toSample(ids: readonly number[]): Sample {
  return {
    episodeId: ids.join(),
    agentName: 'agent',
    targetTag: 'agent',
    ids: Int32Array.from(ids),
    lossMask: Uint8Array.from(ids, (_, t) => (t < prompt.length ? 0 : 1)),
    logprobs: new Float32Array(ids.length),
    policyVersions: new Int32Array(ids.length),
    advantages: new Float32Array(ids.length),
  };
}

const toGroup = (samples: readonly Sample[]) => ({
  groupId: 'g',
  episodes: samples.map((sample) => ({ episodeId: sample.episodeId, reward: 0, samples: [sample] })),
});

async function askedOf(samples: readonly Sample[], model: OnnxModel, temperature: number): Promise<readonly Sample[]> {
  const teacher: Teacher = {
    takes: 'packs',
    termLogprobs: async (packs, at) => (await model.termLogprobs(packs, at)).map((values) => Float32Array.from(values)),
    close: async () => undefined,
  };
  const groups = await askTeacher([toGroup(samples)], teacher, { temperature, maxPackTokens: 4096 });
  return groups.flatMap(({ episodes }) => episodes.flatMap((episode) => episode.samples));
}

/** The student's own logprobs are those that its sampler would have recorded. */
async function withLogprobs(
  samples: readonly Sample[],
  student: OnnxModel,
  temperature: number,
): Promise<readonly Sample[]> {
  const asked = await askedOf(samples, student, temperature);
  return asked.map(({ teacherLogprobs: logprobs = new Float32Array(), ...sample }) => ({ ...sample, logprobs }));
}

function weighByProbability(samples: readonly Sample[], takes: Teacher['takes']): readonly TreePack[] {
  const options = { maxPackTokens: 4096, weighting: 'row', normalization: 'sequence' } as const;
  const { packs } = packFor({ capabilities: { takes } }, samples, options);
  const probabilities = samples.map(({ logprobs }) => Math.exp(logprobs.reduce((sum, value) => sum + value, 0)));
  return packs.map((pack) => {
    const weights = Float32Array.from(pack.terms.sequence, (row) => probabilities[row] ?? Number.NaN);
    return { ...pack, terms: { ...pack.terms, weights } };
  });
}

/**
 * The reverse KL of a token is the mean of ratio x (log student - log teacher) over the student's distribution. The
 * ratio divides the student's probability by its present value, which is held constant.
 */
async function reverseKlGradient(
  student: OnnxModel,
  teacher: OnnxModel,
  packs: readonly TreePack[],
  temperature: number,
): Promise<Float64Array> {
  const scores = (await teacher.termLogprobs(packs, temperature)).flatMap((values) => [...values]);
  const reference = (k: number, l: Float64Array, fixed: { readonly logprobs: Float64Array }): number => {
    const [logprob, initial] = [l[k] ?? Number.NaN, fixed.logprobs[k] ?? Number.NaN];
    return Math.exp(logprob - initial) * (logprob - (scores[k] ?? Number.NaN));
  };
  return await referenceGradient(student, packs, { reference }, temperature);
}
