import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRandom, deriveSeed } from '@agentjet/core';
import { nanoModelDir } from '@agentjet/nano';
import { asModel, ReActAgent, Toolkit } from '@agentjet/react';
import { AgentJetJob, type Task, type Tuner, Workflow, type WorkflowOutput } from 'agentjet';
import { FrozenLake, type LakeMap } from '#tutorial/frozen-lake/frozen-lake.js';
import { FrozenLakeWorkflow } from '#tutorial/frozen-lake/frozen-lake-workflow.js';
import { drawTasks as drawLakes } from '#tutorial/frozen-lake/lake-tasks.js';
import { calculate, maxCalls, systemPrompt } from '#tutorial/math-agent/calculator.js';
import { solveProblem } from '#tutorial/math-agent/workflows/react.js';
import type { JobOptions } from './plant.js';

/** The jobs that the planted runs are made of. */

const problems = (file: string): readonly Task[] =>
  readFileSync(path.join(import.meta.dirname, '../../tutorial/math-agent/data', file), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { task_id: string; main_query: string; metadata: Task['metadata'] })
    .map(({ task_id: taskId, main_query: mainQuery, metadata }) => ({ taskId, mainQuery, metadata, initMessages: [] }));

type Data = { readonly training: readonly Task[]; readonly validation: readonly Task[] };

export const lakes = (numTraining = 400): Data => ({
  training: drawLakes('training', { seed: 1, count: numTraining }),
  validation: drawLakes('evaluation', { seed: 1, count: 50 }),
});
export const sums = (): Data => ({
  training: problems('training.jsonl'),
  validation: problems('validation.jsonl').slice(0, 50),
});

/** Directions that lead onto ice and closer to the goal. */
export const waysCloser = (task: Task): readonly string[] =>
  new FrozenLake(task.metadata['map'] as LakeMap)
    .describe()
    .split('\n')
    .flatMap((line) => (line.endsWith(': ice, closer') ? (line.split(':')[0] ?? []) : []));

/** Lakes whose only way is down, then those whose only way is right, and so on. The evaluation has both kinds. */
export function lakesInBlocks({ blocks, size }: { readonly blocks: number; readonly size: number }): Data {
  const { training, validation } = {
    training: drawLakes('training', { seed: 1, count: 1600 }),
    validation: drawLakes('evaluation', { seed: 1, count: 200 }),
  };
  const only = (way: string, among: readonly Task[]): readonly Task[] =>
    among.filter((task) => waysCloser(task).join() === way);
  const kinds = [only('down', training), only('right', training)];
  const blockAt = (at: number): readonly Task[] =>
    (kinds[at % 2] ?? []).slice(Math.floor(at / 2) * size, (Math.floor(at / 2) + 1) * size);
  return {
    training: Array.from({ length: blocks }, (_, at) => blockAt(at)).flat(),
    validation: [...only('down', validation).slice(0, 30), ...only('right', validation).slice(0, 30)],
  };
}

export const base = (options: JobOptions): AgentJetJob => {
  const {
    model = 'nano',
    steps = 10,
    batchSize = 6,
    rate = 5e-4,
    temperature = 1,
    rollout = {},
    trainerCommon = {},
    backbone,
    experimentDir,
  } = options;
  return new AgentJetJob({
    model,
    experimentDir,
    experimentName: 'doctor',
    ...(backbone !== undefined && { backbone }),
    numRepeat: 8,
    batchSize,
    maxPromptLength: 384,
    maxResponseLength: 256,
    config: {
      rollout: { temperature, failedEpisodePolicy: 'zero_reward', ...rollout },
      trainerCommon: {
        totalTrainingSteps: steps,
        testFreq: steps,
        saveFreq: 0,
        maxEmptySteps: null,
        optim: { lr: rate },
        ...trainerCommon,
      },
    },
  });
};

type Change = (output: WorkflowOutput, task: Task, tuner: Tuner) => WorkflowOutput | Promise<WorkflowOutput>;

/** Frozen lake, with another result of each walk. */
export function walk(options: JobOptions, change: Change = (output) => output, data = lakes()): AgentJetJob {
  class ChangedWalk extends FrozenLakeWorkflow {
    override async execute(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
      return change(await super.execute(task, tuner), task, tuner);
    }
  }
  return base(options).setWorkflow(ChangedWalk).setData(data);
}

type Score = {
  readonly reward: number;
  readonly isSuccess: boolean;
  readonly reason?: string;
  readonly parts?: Readonly<Record<string, number>>;
};

export const isRight = (task: Task, answer: unknown): boolean =>
  typeof answer === 'string' && answer.trim() !== '' && Number(answer) === task.metadata['answer'];

/** Problems with a calculator, scored in another way. */
export function solve(
  options: JobOptions,
  score: (task: Task, answer: unknown) => Score = plainScore,
  data = sums(),
): AgentJetJob {
  return base(options)
    .setWorkflow(solveProblem)
    .setJudge((task, output) => score(task, output.metadata?.['answer']))
    .setData(data);
}

export const plainScore = (task: Task, answer: unknown): Score => {
  const isSuccess = isRight(task, answer);
  return { reward: isSuccess ? 1 : 0, isSuccess };
};

/** A copy of nano with another chat template. */
export function nanoWith(change: (template: string) => string): string {
  const dir = path.join(mkdtempSync(path.join(tmpdir(), 'doctor-model-')), 'nano');
  cpSync(nanoModelDir, dir, { recursive: true });
  const file = path.join(dir, 'tokenizer_config.json');
  const config = JSON.parse(readFileSync(file, 'utf8')) as { chat_template: string };
  writeFileSync(file, JSON.stringify({ ...config, chat_template: change(config.chat_template) }));
  return dir;
}

/** The same for each text, as a coin would be. */
export const coin = (text: string): number => createRandom(deriveSeed(0, text)).next();

/** Asks for two numbers, while nano writes one expression. */
export class OtherTool extends Workflow {
  async execute(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
    const agent = new ReActAgent({
      name: 'solver',
      systemPrompt,
      model: asModel(tuner, { agentName: 'solver' }),
      maxIterations: maxCalls,
      toolkit: new Toolkit([
        {
          name: 'calculator',
          description: 'Computes two numbers.',
          parameters: {
            type: 'object',
            properties: { left: { type: 'number' }, operator: { type: 'string' }, right: { type: 'number' } },
            required: ['left', 'operator', 'right'],
          },
          execute: ({ left, operator, right }) => calculate(`${left} ${operator} ${right}`),
        },
      ]),
    });
    const { content } = await agent.reply(
      { name: 'user', role: 'user', content: task.mainQuery },
      { signal: tuner.signal },
    );
    return { metadata: { answer: content } };
  }
}

/** Asks for one step on a lake. Whether left or right is right depends on the task alone, so it cannot be learned. */
export class Guess extends Workflow {
  async execute(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
    const lake = new FrozenLake(task.metadata['map'] as LakeMap);
    const model = asModel(tuner, { agentName: 'walker' });
    const agent = new ReActAgent({ name: 'walker', systemPrompt: 'Answer with one word: left or right.', model });
    const { content } = await agent.reply(
      { name: 'lake', role: 'user', content: lake.describe() },
      { signal: tuner.signal },
    );
    const isSuccess = content.trim() === (coin(task.taskId) < 0.5 ? 'left' : 'right');
    return { reward: isSuccess ? 1 : 0, isSuccess };
  }
}

const luck = createRandom(13);

/** Going down is right, and then luck decides. The number in each question makes the episodes of a task differ. */
export class Luck extends Workflow {
  async execute(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
    const lake = new FrozenLake(task.metadata['map'] as LakeMap);
    const model = asModel(tuner, { agentName: 'walker' });
    const agent = new ReActAgent({ name: 'walker', systemPrompt: 'Answer with one word.', model });
    const question = `${lake.describe()} ${Math.floor(luck.next() * 1000)}`;
    const { content } = await agent.reply({ name: 'lake', role: 'user', content: question }, { signal: tuner.signal });
    const isSuccess = content.trim() === 'down' && luck.next() < 0.5;
    return { reward: isSuccess ? 1 : 0, isSuccess };
  }
}

/** Asks again in a way that the model refuses, and continues as if nothing had happened. */
export class AsksTwice extends Workflow {
  async execute(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
    const output = await solveProblem(task, tuner);
    const model = tuner.selectModel({ agentName: 'solver' }, (native) => native);
    const question = 'word '.repeat(4000);
    await model.generate({ messages: [{ role: 'user', content: question }] }).catch(() => undefined);
    const isSuccess = isRight(task, output.metadata?.['answer']);
    return { ...output, reward: isSuccess ? 1 : 0, isSuccess };
  }
}
