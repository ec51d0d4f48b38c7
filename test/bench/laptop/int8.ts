import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { OpenAI } from 'openai';
import { createContextTracker, type ContextTracker } from '@agentjet/context-tracker';
import type { Backbone, Sample, TrainStepMetrics } from '@agentjet/core';
import { resolveModelDir } from '@agentjet/models';
import { loadChatTokenizer, type ChatTokenizer } from '@agentjet/tokenizer';
import { createOnnxBackbone, packFor } from '@agentjet/trainer';
import { adamOptions, plainLoss } from '@agentjet/trainer/testing';
import { solve } from '../../../tutorial/real-model/agent.js';
import type { BenchOptions } from '../bench.js';
import { readLines } from '../real/run-training.js';

/**
 * How far is int8 from float32 on SmolLM2-135M-Instruct itself? Answers of the calculator agent are sampled in int8, and
 * the gradient of a new adapter over them is computed over int8 and over float32.
 */

const temperature = 0.7;
const maxTokens = 48;
const contextLength = 640;
/** With a rate of 0, a step leaves the weights as they are, and the first moment is the gradient times a factor. */
const still = adamOptions(0, { weightDecay: 0, maxGradNorm: 0 });
const lora = { rank: 16 };

type Options = Pick<BenchOptions, 'report'> & { readonly numAnswers: number };
type Problem = { readonly question: string; readonly answer: unknown };

export async function measureInt8({ report, numAnswers }: Options): Promise<Readonly<Record<string, unknown>>> {
  const modelDir = await resolveModelDir('smollm2-135m', {
    withWeights: true,
    onNotice: report,
    setting: 'model.path',
  });
  const chatTokenizer = await loadChatTokenizer(modelDir);
  const open = (frozenWeights: 'int8' | 'float32'): Promise<Backbone> =>
    createOnnxBackbone({ modelDir, optimizer: still, contextLength, lora, frozenWeights });
  const int8 = await open('int8');
  const answers = await sampleAnswers({ engine: int8.engine, chatTokenizer }, readProblems(numAnswers));
  report(`${answers.samples.length} samples of ${numAnswers} answers, ${answers.numRight} right`);
  const coarse = await gradientOf(int8, answers.samples);
  await int8.close();
  report('the same over float32');
  const exact = await open('float32');
  const fine = await gradientOf(exact, answers.samples);
  await exact.close();
  return {
    answers: numAnswers,
    right: answers.numRight,
    trained_tokens: coarse.metrics.trainedTokens,
    gap_mean_same_base: digits(coarse.metrics.logprobGapMean),
    gap_max_same_base: digits(coarse.metrics.logprobGapMax),
    gap_mean_float32: digits(fine.metrics.logprobGapMean),
    gap_max_float32: digits(fine.metrics.logprobGapMax),
    gradient_cosine: digits(cosine(coarse.gradient, fine.gradient)),
  };
}

const digits = (value: number): number => Number(value.toPrecision(4));

function readProblems(count: number): readonly Problem[] {
  const file = path.join(import.meta.dirname, '../../../tutorial/math-agent/data/training.jsonl');
  return readLines(file)
    .slice(0, count)
    .map((line) => ({
      question: String(line['main_query']),
      answer: (line['metadata'] as { readonly answer?: unknown } | undefined)?.answer,
    }));
}

type Model = { readonly engine: Backbone['engine']; readonly chatTokenizer: ChatTokenizer };

async function sampleAnswers(
  model: Model,
  problems: readonly Problem[],
): Promise<{ readonly samples: readonly Sample[]; readonly numRight: number }> {
  const samples: Sample[] = [];
  let numRight = 0;
  for (let start = 0; start < problems.length; start += 16) {
    const solved = await Promise.all(
      problems.slice(start, start + 16).map((problem, index) => solveOne(model, problem, start + index)),
    );
    for (const { isRight, made } of solved) {
      if (isRight) numRight += 1;
      const credited = made.map((sample) => ({
        ...sample,
        advantages: Float32Array.from(sample.lossMask, (mask) => (mask === 1 ? (isRight ? 0.5 : -0.5) : 0)),
      }));
      samples.push(...credited);
    }
  }
  return { samples, numRight };
}

async function solveOne(
  { engine, chatTokenizer }: Model,
  { question, answer }: Problem,
  index: number,
): Promise<{ readonly isRight: boolean; readonly made: readonly Sample[] }> {
  const tracker = createContextTracker({ episodeId: `answer-${index}`, chatTokenizer });
  let numCalls = 0;
  const create = async ({ messages }: { readonly messages: Messages }): Promise<unknown> => {
    const turn = tracker.begin({ agentName: 'solver', targetTag: 'solver' }, { messages });
    const seed = 100 * index + numCalls++;
    const sampling = { temperature, topP: 1, topK: 0, maxTokens, stopIds: turn.stopIds, seed };
    const { message } = turn.commit(await engine.generate({ promptIds: turn.promptIds, sampling }));
    return { choices: [{ message: { content: message.content } }] };
  };
  // The agent uses only this method of its client.
  const client = { chat: { completions: { create } } } as unknown as OpenAI;
  const found = await solve(question, client);
  return { isRight: found.trim() !== '' && Number(found) === answer, made: tracker.finish() };
}

type Messages = Parameters<ContextTracker['begin']>[1]['messages'];
type Gradient = { readonly metrics: TrainStepMetrics; readonly gradient: Float32Array };

async function gradientOf(backbone: Backbone, samples: readonly Sample[]): Promise<Gradient> {
  const { packs } = packFor(backbone, samples, { maxPackTokens: 1280 });
  const metrics = await backbone.trainStep({
    packs,
    loss: { ...plainLoss, temperature },
  });
  const dir = mkdtempSync(path.join(tmpdir(), 'bench-int8-'));
  try {
    const checkpoint = path.join(dir, 'checkpoint');
    await backbone.save(checkpoint);
    return { metrics, gradient: readFirstMoments(path.join(checkpoint, 'trainer_state/moments.safetensors')) };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Reads all first moments of a safetensors file, one after the other. */
function readFirstMoments(file: string): Float32Array {
  const bytes = readFileSync(file);
  const headerBytes = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString('utf8', 8, 8 + headerBytes)) as Readonly<
    Record<string, { readonly data_offsets: readonly [number, number] }>
  >;
  const data = bytes.subarray(8 + headerBytes);
  const parts = Object.entries(header)
    .filter(([name]) => name.startsWith('firstMoments.'))
    .map(
      ([
        ,
        {
          data_offsets: [start, end],
        },
      ]) => new Float32Array(Uint8Array.from(data.subarray(start, end)).buffer),
    );
  const all = new Float32Array(parts.reduce((total, { length }) => total + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function cosine(left: Float32Array, right: Float32Array): number {
  let [product, ofLeft, ofRight] = [0, 0, 0];
  for (const [index, value] of left.entries()) {
    const other = right[index] ?? NaN;
    product += value * other;
    ofLeft += value * value;
    ofRight += other * other;
  }
  return product / Math.sqrt(ofLeft * ofRight);
}
