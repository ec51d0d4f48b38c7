import { directions } from '#tutorial/frozen-lake/frozen-lake.js';
import { AnswerJudge } from '#tutorial/math-agent/answer-judge.js';
import { calculator } from '#tutorial/math-agent/agents/react.js';
import { maxCalls } from '#tutorial/math-agent/calculator.js';
import type { Patient } from '#tutorial/learning-to-ask/patients.js';
import { asModel, ReActAgent, Toolkit } from '@agentjet/react';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';
import type { Plant } from '../plant.js';
import { lakes, patients, problems, smallJob, type Tasks } from './jobs.js';
import {
  askOneQuestion,
  asksAgain,
  asksExactly,
  asksNews,
  killTheFirst,
  lakesWithAWayBack,
  nightTasks,
  stepAway,
  stepOnce,
} from './short-tasks.js';

/** More mistakes of users, one in each run. The expected causes were written before the runs were made. */

/** Labels each lake with a direction, all four equally often. Lakes and labels are in no common order. */
function withUnrelatedLabels({ training, validation }: Tasks): Tasks {
  const label = (task: Task, at: number): Task => ({
    ...task,
    metadata: { ...task.metadata, label: directions[at % directions.length] },
  });
  return { training: training.map(label), validation: validation.map(label) };
}

/** Someone sorted the lakes but not the file with their labels, so each lake has the label of another one. */
const sortedFile: Plant = {
  name: 'by-others.one-file-sorted',
  cause: 'no_gain',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 15,
      workflow: stepOnce,
      judge: ({ metadata }, output) => {
        const isSuccess = output.metadata?.['answer'] === metadata['label'];
        return { reward: isSuccess ? 1 : 0, isSuccess };
      },
      tasks: withUnrelatedLabels(lakes(211, 80)),
      settings: { seed: 41, batchSize: 12 },
      trainerCommon: { testFreq: 5 },
    }),
};

/** The judge rewards the fact that the patient has stated. Success needs one of the facts that it has not. */
const statedFact: Plant = {
  name: 'by-others.reward-for-the-stated-fact',
  cause: 'hollow_reward',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 15,
      workflow: askOneQuestion,
      judge: (task, output) => ({ reward: asksAgain(task, output) ? 1 : 0, isSuccess: asksNews(task, output) }),
      tasks: patients(212, 80),
      rollout: { maxResponseLengthInOneTurn: 32 },
      settings: { model: 'micro', seed: 42, batchSize: 12, lr: 1e-3 },
      trainerCommon: { testFreq: 5 },
    }),
};

/** The clip range is the one for GSPO, but the loss is PPO's. Each batch gives eight updates at a low rate. */
const rangeOfGspo: Plant = {
  name: 'by-others.clip-range-of-gspo',
  cause: 'clipped_away',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 10,
      workflow: stepAway,
      tasks: lakesWithAWayBack(213, 80),
      settings: { seed: 43, batchSize: 8, lr: 5e-5, miniBatchNum: 2 },
      trainerCommon: { testFreq: 5, ppoEpochs: 4, clipRatioLow: 0.0003, clipRatioHigh: 0.0003 },
    }),
};

/** A copied prompt: the agent with the calculator has the prompt of the agent on the lake. */
async function solveWithLakePrompt(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const agent = new ReActAgent({
    name: 'solver',
    systemPrompt: 'You walk on a frozen lake. Answer with one word: up, down, left or right.',
    model: asModel(tuner, { agentName: 'solver' }),
    toolkit: new Toolkit([calculator]),
    maxIterations: maxCalls,
  });
  const { content } = await agent.reply(
    { name: 'user', role: 'user', content: task.mainQuery },
    { signal: tuner.signal },
  );
  return { metadata: { answer: content } };
}

const copiedPrompt: Plant = {
  name: 'by-others.prompt-of-another-agent',
  cause: 'tools_not_called',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 8,
      workflow: solveWithLakePrompt,
      judge: new AnswerJudge(),
      tasks: problems(214),
      settings: { seed: 44 },
      trainerCommon: { testFreq: 4 },
    }),
};

/** The weights of one task in thirty are in cents instead of euros, and the gradient is not clipped. */
const cents: Plant = {
  name: 'by-others.weights-in-cents',
  cause: 'gradient_spikes',
  open: ({ experimentDir }) => {
    const { training, validation } = nightTasks(215, 80);
    const weigh = (task: Task, at: number): Task => ({
      ...task,
      metadata: { ...task.metadata, weight: at % 30 === 17 ? 100 : 1 },
    });
    return smallJob({
      experimentDir,
      steps: 15,
      workflow: async (task, tuner) => {
        const output = await killTheFirst(task, tuner);
        return { ...output, reward: output.isSuccess === true ? Number(task.metadata['weight'] ?? 1) : 0 };
      },
      tasks: { training: training.map(weigh), validation },
      settings: { seed: 45, algorithm: 'dr_grpo', batchSize: 5, lr: 5e-4 },
      trainerCommon: { testFreq: 5, optim: { gradClip: 0 } },
    });
  },
};

/** The limit of an answer was counted in words, so most questions lose their ends. */
const fourWords: Plant = {
  name: 'by-others.limit-in-words',
  cause: 'cut_answers',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 10,
      workflow: askOneQuestion,
      judge: ({ metadata }, output) => {
        const isSuccess = asksExactly((metadata as Patient).hidden, output);
        return { reward: isSuccess ? 1 : 0, isSuccess };
      },
      tasks: patients(216, 80),
      rollout: { maxResponseLengthInOneTurn: 4 },
      settings: { model: 'micro', seed: 46, batchSize: 10 },
      trainerCommon: { testFreq: 5 },
    }),
};

export const morePlants: readonly Plant[] = [sortedFile, statedFact, rangeOfGspo, copiedPrompt, cents, fourWords];
