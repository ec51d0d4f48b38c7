/**
 * Trains an agent with reinforcement learning in one file, from the public parts: an engine that samples, a tracker
 * that keeps the tokens, a judge, an algorithm, and a backbone that trains. It has none of the retries, checkpoints and
 * records of an `ajet` run, and cannot resume.
 *
 *   npx tsx examples/rl-loop.ts
 */
import { createRandom, deriveSeed, type Backbone, type RewardedEpisode, type Sample, type Task } from '@agentjet/core';
import { createContextTracker, type ContextTracker } from '@agentjet/context-tracker';
import { nanoModelDir } from '@agentjet/nano';
import { loadChatTokenizer, type ChatTokenizer } from '@agentjet/tokenizer';
import { createGrpo, createOnnxBackbone, packFor } from '@agentjet/trainer';
import { directions, FrozenLake, type LakeMap } from '../tutorial/frozen-lake/frozen-lake.js';
import { drawTasks } from '../tutorial/frozen-lake/lake-tasks.js';

const systemPrompt =
  'You walk on a frozen lake. Reach the goal. Do not step into a hole. Answer with one word: up, down, left or right.';
const walker = { agentName: 'walker', targetTag: 'walker' };
const maxMoves = 10;

const optimizer = {
  learningRate: 5e-4,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  weightDecay: 0.01,
  maxGradNorm: 1,
  schedule: 'constant',
  warmupSteps: 0,
  totalSteps: 0,
} as const;

/** PPO's clipped loss on tokens that were sampled at temperature 1. */
const loss = {
  kind: 'policy',
  clipLow: 0.2,
  clipHigh: 0.2,
  dualClip: 3,
  klCoef: 0,
  klEstimator: 'k3',
  entropyCoef: 0,
  temperature: 1,
} as const;

type Model = { readonly backbone: Backbone; readonly chatTokenizer: ChatTokenizer };

/** The judge reads the lake on which the agent walked. */
const judge = (lake: FrozenLake): number => (lake.state === 'goal' ? 1 : 0);

/**
 * Runs one episode. The agent uses messages, the engine uses token ids, and the tracker keeps the tokens that the model
 * really saw.
 */
async function runEpisode(model: Model, task: Task, episodeId: string, seed: number): Promise<RewardedEpisode> {
  const tracker = createContextTracker({ episodeId, chatTokenizer: model.chatTokenizer });
  const lake = new FrozenLake(task.metadata['map'] as LakeMap);
  const messages: { role: 'system' | 'user' | 'assistant'; content: string }[] = [
    { role: 'system', content: systemPrompt },
  ];
  for (let move = 0; move < maxMoves && lake.state === 'walking'; move++) {
    messages.push({ role: 'user', content: lake.describe() });
    const answer = await callModel(model, tracker, messages, deriveSeed(seed, move));
    messages.push({ role: 'assistant', content: answer });
    const direction = directions.find((each) => each === answer.trim());
    if (direction === undefined) break; // an answer that is not a direction ends the walk
    lake.step(direction);
  }
  return { episodeId, reward: judge(lake), samples: tracker.finish() };
}

/** Makes one model call. Messages become token ids, and the ids that the engine sampled become a message. */
async function callModel(
  { backbone }: Model,
  tracker: ContextTracker,
  messages: Parameters<ContextTracker['begin']>[1]['messages'],
  seed: number,
): Promise<string> {
  const turn = tracker.begin(walker, { messages });
  const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 16, stopIds: turn.stopIds, seed };
  const completion = await backbone.engine.generate({ promptIds: turn.promptIds, sampling });
  return turn.commit(completion).message.content;
}

export type StepReport = { readonly step: number; readonly success: number; readonly trainedTokens: number };

export type LoopOptions = {
  readonly steps: number;
  readonly groupsPerStep?: number;
  /** Runs the episodes of one task. Their rewards are compared with one another. */
  readonly groupSize?: number;
  readonly seed?: number;
  readonly onStep?: (report: StepReport) => void;
};

/** Samples, judges, credits and steps. Returns one report for each step. */
export async function trainLake(options: LoopOptions): Promise<readonly StepReport[]> {
  const { steps, groupsPerStep = 16, groupSize = 8, seed = 42, onStep } = options;
  const chatTokenizer = await loadChatTokenizer(nanoModelDir);
  const backbone = await createOnnxBackbone({ modelDir: nanoModelDir, optimizer, contextLength: 640 });
  const algorithm = createGrpo();
  const tasks = drawTasks('training', { seed: 1, count: 2048 });
  const random = createRandom(seed);
  const reports: StepReport[] = [];
  try {
    for (let step = 1; step <= steps; step++) {
      // 1. Sample and judge: run several episodes of each task, all at the same time.
      const groups = await Promise.all(
        Array.from({ length: groupsPerStep }, async (_, group) => {
          const task = tasks[random.int(tasks.length)] as Task;
          const run = (place: number): Promise<RewardedEpisode> =>
            runEpisode(
              { backbone, chatTokenizer },
              task,
              `${step}-${group}-${place}`,
              deriveSeed(seed, step, group, place),
            );
          const episodes = await Promise.all(Array.from({ length: groupSize }, (_none, place) => run(place)));
          return { groupId: `${step}-${group}`, episodes };
        }),
      );
      // 2. Credit: give each sampled token an advantage. A group whose rewards are all equal gets only zeros.
      const samples = groups.flatMap((group) => algorithm.credit(group)).filter(hasGradient);
      // 3. Step: lay out the prompts that episodes share once, and make one update from all packs.
      const { packs, report } = packFor(backbone, samples, { maxPackTokens: 4096 });
      if (packs.length > 0) await backbone.trainStep({ packs, loss, isOnPolicy: true });
      const rewards = groups.flatMap(({ episodes }) => episodes.map(({ reward }) => reward));
      const success = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
      reports.push({ step, success, trainedTokens: report.trainedTokens });
      onStep?.({ step, success, trainedTokens: report.trainedTokens });
    }
  } finally {
    await backbone.close();
  }
  return reports;
}

const hasGradient = ({ advantages }: Sample): boolean => advantages.some((advantage) => advantage !== 0);

if (process.argv[1] === import.meta.filename)
  await trainLake({
    steps: 12,
    onStep: ({ step, success, trainedTokens }) =>
      console.log(`step ${step}: success ${success.toFixed(2)}, ${trainedTokens} tokens trained`),
  });
