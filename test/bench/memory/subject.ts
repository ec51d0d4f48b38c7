import { readFileSync } from 'node:fs';
import { createRandom, type Random, type Sample } from '@agentjet/core';
import { readPeakMemory } from '@agentjet/run-folder';
import { createOnnxBackbone, packTrees } from '@agentjet/trainer';
import { adamOptions, plainLoss } from '@agentjet/trainer/testing';
import type { MemoryCase } from './memory-cases.js';

/**
 * A process that samples and trains with one model, as a run does. It prints the peak of its memory after each phase,
 * as one line of JSON each. Its arguments are a folder and a MemoryCase as JSON.
 */

const optimizer = adamOptions(1e-5, { weightDecay: 0.01, maxGradNorm: 1, totalSteps: 100 });

type Workload = MemoryCase & { readonly vocabSize: number; readonly random: Random };

function randomIds({ random, vocabSize }: Workload, length: number): readonly number[] {
  return Array.from({ length }, () => random.int(vocabSize));
}

/**
 * Makes answers that share their prompt, as a group of episodes does. Without sharing, each answer has its own prompt.
 */
function createGroup(workload: Workload, { episodes, promptTokens, answerTokens }: Group): (readonly number[])[] {
  const prompt = randomIds(workload, promptTokens);
  return Array.from({ length: episodes }, () => [...prompt, ...randomIds(workload, answerTokens)]);
}

type Group = Pick<MemoryCase, 'episodes' | 'promptTokens' | 'answerTokens'>;

/** The sizes of smaller trees, as shares of the largest. */
const shares = Array.from({ length: 10 }, (_, index) => 0.87 ** index);

/**
 * Returns the sizes of the trees of each step: two steps of the largest, and then smaller ones. A step has at most as
 * many trees as the configuration says.
 */
function sizesOfSteps({ groups, hasSmallTrees }: MemoryCase): readonly (readonly number[])[] {
  const largest = Array.from({ length: groups }, () => 1);
  if (!hasSmallTrees) return [largest, largest, largest];
  const numSteps = Math.ceil(shares.length / groups);
  return [
    largest,
    largest,
    ...Array.from({ length: numSteps }, (_, step) => shares.slice(step * groups, (step + 1) * groups)),
  ];
}

function createSamples(workload: Workload, sizes: readonly number[]): Sample[] {
  const { episodes, promptTokens, answerTokens } = workload;
  return sizes
    .map((share) => ({
      episodes,
      promptTokens: Math.ceil(share * promptTokens),
      answerTokens: Math.ceil(share * answerTokens),
    }))
    .flatMap((group) => createGroup(workload, group).map((ids) => ({ ids, promptTokens: group.promptTokens })))
    .map(({ ids, promptTokens: ofPrompt }, index) => toSample(ids, index, ofPrompt));
}

function toSample(ids: readonly number[], index: number, promptTokens: number): Sample {
  const lossMask = Uint8Array.from(ids, (_, position) => (position < promptTokens ? 0 : 1));
  return {
    episodeId: `episode-${index}`,
    agentName: 'agent',
    targetTag: 'agent',
    ids: Int32Array.from(ids),
    lossMask,
    logprobs: Float32Array.from(lossMask, (mask) => (mask === 1 ? -1 : 0)),
    policyVersions: Int32Array.from(lossMask, (mask) => (mask === 1 ? 0 : -1)),
    advantages: Float32Array.from(lossMask, (mask) => (mask === 1 ? (index % 2) * 2 - 1 : 0)),
  };
}

function say(phase: string, startedAt: number): void {
  const [peak, now] = [readPeakMemory(), process.memoryUsage.rss()];
  console.log(JSON.stringify({ phase, peak, now, seconds: (performance.now() - startedAt) / 1000 }));
}

const [folder = '', json = ''] = process.argv.slice(2);
const memoryCase = JSON.parse(json) as MemoryCase;
const { vocab_size: vocabSize } = JSON.parse(readFileSync(`${folder}/config.json`, 'utf8')) as { vocab_size: number };
const workload: Workload = { ...memoryCase, vocabSize, random: createRandom(1) };
const { groups, episodes, promptTokens, answerTokens, kl, trains, loraRank, format } = memoryCase;

let startedAt = performance.now();
say('start', startedAt);
const backbone = await createOnnxBackbone({
  modelDir: folder,
  contextLength: promptTokens + answerTokens,
  ...(trains ? { optimizer } : { train: false }),
  frozenWeights: format,
  ...(loraRank > 0 && { lora: { rank: loraRank } }),
});
say('open', startedAt);
/** Every step of a run samples. The smaller trees need no further samples. */
const numSampled = trains ? 3 : 1;

async function sample(): Promise<void> {
  startedAt = performance.now();
  const prompts = Array.from({ length: groups }, () => Int32Array.from(randomIds(workload, promptTokens)));
  await Promise.all(
    Array.from({ length: groups * episodes }, (_, call) =>
      backbone.engine.generate({
        promptIds: prompts[call % groups] ?? new Int32Array(0),
        sampling: { maxTokens: memoryCase.sampledTokens, temperature: 1, topP: 1, topK: 0, stopIds: [], seed: call },
      }),
    ),
  );
  say('sample', startedAt);
}

for (const [step, sizes] of sizesOfSteps(memoryCase).entries()) {
  if (step < numSampled) await sample();
  if (!trains) break;
  startedAt = performance.now();
  const { packs } = packTrees(createSamples(workload, sizes), { maxPackTokens: memoryCase.packTokens });
  const metrics = await backbone.trainStep({
    packs,
    loss: { ...plainLoss, dualClip: 0, klCoef: kl ? 0.01 : 0 },
  });
  if (!Number.isFinite(metrics.loss)) throw new Error('The loss is not finite.');
  say('train', startedAt);
}
await backbone.close();
