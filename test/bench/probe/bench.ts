/**
 * Does `ajet probe` predict the share of groups that train? On five sets of tasks, the probe predicts this share and
 * chooses settings. Then the start weights sample 200 groups of other tasks with these settings, through the code of
 * evaluations, and the share of groups with different rewards is compared with the prediction. Nothing is trained. The
 * sets are four tutorials with nano and micro, and functions, JSON and a calculator with SmolLM2-135M.
 * `--only functions,json` takes some of them.
 */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { shuffleIndices } from '@agentjet/core';
import { AgentJetJob, type Episode, type Judge, type ProbeReport, type Task } from 'agentjet';
import { FrozenLakeWorkflow } from '#tutorial/frozen-lake/frozen-lake-workflow.js';
import { drawTasks } from '#tutorial/frozen-lake/lake-tasks.js';
import { play } from '#tutorial/countdown/countdown-workflow.js';
import { toRows, type Row } from '#tutorial/countdown/problems.js';
import { AskWorkflow } from '#tutorial/learning-to-ask/ask-workflow.js';
import { RuleJudge } from '#tutorial/learning-to-ask/judges.js';
import { drawTasks as drawPatients } from '#tutorial/learning-to-ask/patients.js';
import { AnswerJudge } from '#tutorial/math-agent/answer-judge.js';
import { calculate } from '#tutorial/math-agent/calculator.js';
import { solveProblem } from '#tutorial/math-agent/workflows/react.js';
import { listOption, numberOption, type BenchOptions, type BenchResult, type OptionTexts } from '../bench.js';
import { calculator, functions, json } from './small-model-tasks.js';

type Source = Parameters<AgentJetJob['setWorkflow']>[0];

type Case = {
  readonly name: string;
  readonly model: string;
  readonly tasks: readonly Task[];
  readonly workflow: Source;
  readonly judge?: Judge;
  /** Default: 8. */
  readonly numRepeat?: number;
};

/** A part of the reward is for an expression that can be read. */
const countdownJudge: Judge = {
  judge({ metadata }, output) {
    const answer = output.metadata?.['answer'];
    const value = calculate(typeof answer === 'string' ? answer : '');
    const isSuccess = value === String(metadata['target']);
    return { reward: isSuccess ? 1 : /^-?\d/.test(value) ? 0.1 : 0, isSuccess };
  },
};

/** The real model is slow on a CPU, so its groups are small. */
const real = { model: 'smollm2-135m', numRepeat: 4 } as const;

const cases: readonly Case[] = [
  {
    name: 'frozen-lake',
    model: 'nano',
    tasks: drawTasks('training', { seed: 7, count: 400 }),
    workflow: FrozenLakeWorkflow,
  },
  { name: 'math-agent', model: 'nano', tasks: readMath(), workflow: solveProblem, judge: new AnswerJudge() },
  {
    name: 'countdown',
    model: 'nano',
    tasks: toRows('training').map(toCountdownTask),
    workflow: play,
    judge: countdownJudge,
  },
  {
    name: 'learning-to-ask',
    model: 'micro',
    tasks: drawPatients('training', { seed: 1, count: 400 }),
    workflow: AskWorkflow,
    judge: new RuleJudge(),
  },
  { name: 'functions', ...real, ...functions },
  { name: 'json', ...real, ...json },
  { name: 'calculator', ...real, ...calculator },
];

function toCountdownTask({ id, question, target }: Row): Task {
  return { taskId: id, mainQuery: question, initMessages: [], metadata: { target } };
}

type Outcome = {
  readonly name: string;
  readonly model: string;
  readonly predicted: number;
  readonly low: number;
  readonly high: number;
  readonly measured: number;
  readonly groups: number;
  readonly error: number;
  readonly settings: Readonly<Record<string, number>>;
  readonly probe: Readonly<Record<string, unknown>>;
};

export const optionTexts: OptionTexts = {
  '--groups <n>': 'groups that the prediction is compared with; default 200',
  '--only <case>,...': 'takes some sets of tasks, such as functions,json',
};

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const numGroups = numberOption(args, '--groups', 200);
  const only = listOption(
    args,
    '--only',
    cases.map(({ name }) => name),
  );
  const outcomes: Outcome[] = [];
  for (const each of cases.filter(({ name }) => only.includes(name))) {
    const outcome = await compare(each, numGroups);
    outcomes.push(outcome);
    report(
      `${each.name}: predicted ${outcome.predicted.toFixed(3)} (${outcome.low.toFixed(3)} to ${outcome.high.toFixed(3)}), measured ${outcome.measured.toFixed(3)} of ${outcome.groups} groups`,
    );
  }
  const errors = outcomes.map(({ error }) => error);
  return {
    summary: {
      task_sets: outcomes.length,
      mean_error_of_share: errors.reduce((sum, error) => sum + error, 0) / errors.length,
      worst_error_of_share: Math.max(...errors),
    },
    details: { groups: numGroups, outcomes },
  };
}

async function compare({ name, model, ...set }: Case, numGroups: number): Promise<Outcome> {
  const found = await openJob({ model, ...set }, set.tasks).probe({ onEvent: () => undefined });
  if (found.expected === null) throw new Error(`The probe of ${name} scored no episode.`);
  const measured = await sampleGroups({ model, ...set }, found, numGroups);
  const { rate: predicted, low, high } = found.expected;
  return {
    name,
    model,
    predicted,
    low,
    high,
    ...measured,
    error: Math.abs(predicted - measured.measured),
    settings: Object.fromEntries(found.settings.map(({ key, value }) => [key, value])),
    probe: {
      tasks: found.tasks,
      episodes: found.temperatures.reduce((sum, { episodes }) => sum + episodes, 0),
      success: found.temperatures.map(({ temperature, success }) => ({ temperature, ...success })),
    },
  };
}

type JobParts = Pick<Case, 'model' | 'workflow' | 'judge' | 'numRepeat'>;

function openJob(
  { model, workflow, judge, numRepeat = 8 }: JobParts,
  training: readonly Task[],
  evaluation: readonly Task[] = [],
) {
  const job = new AgentJetJob({
    model,
    numRepeat,
    batchSize: 16,
    maxPromptLength: 640,
    maxResponseLength: 384,
    maxModelLen: 1024,
    maxResponseLengthInOneTurn: 48,
  })
    .setWorkflow(workflow)
    .setData({
      async *trainingTasks() {
        yield* training;
      },
      async *evaluationTasks() {
        yield* evaluation;
      },
    });
  return judge === undefined ? job : job.setJudge(judge);
}

/** Random tasks, with the settings that the probe chose and another seed. */
async function sampleGroups(
  set: JobParts & Pick<Case, 'tasks'>,
  { settings }: ProbeReport,
  numGroups: number,
): Promise<Pick<Outcome, 'measured' | 'groups'>> {
  const valueOf = (key: string): number => settings.find((each) => each.key === key)?.value ?? Number.NaN;
  const tasks = [...shuffleIndices(set.tasks.length, 11)]
    .slice(0, numGroups)
    .flatMap((index) => set.tasks[index] ?? []);
  const episodes: Episode[] = [];
  const job = openJob(set, set.tasks, tasks).setConfig({
    rollout: { valKwargs: { temperature: valueOf('rollout.temperature') } },
    trainerCommon: { valPassN: valueOf('rollout.num_repeat'), seed: 4711 },
  });
  await job.evaluate({ onEvent: (event) => void (event.type === 'episode_finished' && episodes.push(event.episode)) });
  const ids = new Set(episodes.map(({ task }) => task.taskId));
  const groups = [...ids].map((id) => episodes.filter(({ task }) => task.taskId === id));
  return { measured: groups.filter(hasSpread).length / groups.length, groups: groups.length };
}

/** The group would have a gradient: at least half of its episodes completed, and their rewards differ. */
function hasSpread(episodes: readonly Episode[]): boolean {
  const rewards = episodes.flatMap((episode) => (episode.status === 'completed' ? [episode.reward] : []));
  return rewards.length >= episodes.length / 2 && new Set(rewards).size > 1;
}

function readMath(): readonly Task[] {
  const file = path.join(
    path.dirname(fileURLToPath(import.meta.url)),
    '../../../tutorial/math-agent/data/training.jsonl',
  );
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const { main_query: mainQuery, task_id: taskId, metadata } = JSON.parse(line) as Record<string, unknown>;
      return {
        taskId: String(taskId),
        mainQuery: String(mainQuery),
        initMessages: [],
        metadata: metadata as Task['metadata'],
      };
    });
}
