import path from 'node:path';
import type { Task } from '@agentjet/core';
import { AgentJetJob, type AuditOptions, type ConfigInput, type Tuner, type WorkflowOutput } from 'agentjet';
import { answerOf, askOnce, byAnswer, jobOf, numTasks, useTool, type Planted, type Rule } from './planted.js';

/** Rewards that pay for solving the task and for nothing else: those of the tutorials, and the judges by name. */

const tutorials = path.join(import.meta.dirname, '../../../tutorial');

const tutorial = (file: string, options: AuditOptions = {}): Planted => ({
  name: `tutorial/${file}`,
  pays: [],
  createJob: () => new AgentJetJob().loadJobFromYaml(path.join(tutorials, file)),
  options: { tasks: numTasks, ...options },
});

async function ask(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const model = tuner.selectModel({ agentName: 'solver' }, (tuned) => tuned);
  await model.generate({ messages: [{ role: 'user', content: task.mainQuery }] });
  return {};
}

const toTasks = (pairs: readonly (readonly [question: string, metadata: Task['metadata']])[]): readonly Task[] =>
  pairs.map(([mainQuery, metadata], at) => ({ taskId: `t${at}`, mainQuery, initMessages: [], metadata }));

const judge = (
  name: string,
  taskJudge: ConfigInput['taskJudge'],
  tasks: readonly Task[],
  options: AuditOptions = {},
): Planted => ({
  name: `judge ${name}`,
  pays: [],
  createJob: () => jobOf(ask, tasks).setConfig({ taskJudge } as ConfigInput),
  options: { tasks: numTasks, ...options },
});

const cities = ['Paris', 'Rome', 'Oslo', 'Cairo', 'Lima', 'Quito', 'Hanoi', 'Accra'];
const byCompare = (compare: string, answers: readonly string[]): Planted =>
  judge(
    `answer, ${compare}`,
    { judgeType: 'answer', answer: { compare } } as ConfigInput['taskJudge'],
    toTasks(answers.map((answer, at) => [`Question ${at}?`, { answer }])),
  );

const countdownTasks = toTasks(
  Array.from({ length: 12 }, (_none, at) => [
    `Reach ${at + 20} with 3, 8 and ${at + 1}.`,
    { target: at + 20, numbers: [3, 8, at + 1] },
  ]),
);

const codeTasks = toTasks(
  ['add', 'plus', 'sum', 'total'].map((name, at) => [
    `Write a function ${name}(a, b) in JavaScript that adds ${at} to the sum of a and b.`,
    {
      tests: [`if (${name}(1, 2) !== ${3 + at}) throw new Error('1 + 2')`],
      solution: `function ${name}(a, b) { return a + b + ${at}; }`,
    },
  ]),
);

const lastMark: Rule = ({ text }, task) => (/\\boxed\{([^{}]*)\}[^\\]*$/.exec(text)?.[1] === answerOf(task) ? 1 : 0);

/** A tenth of the reward is for the form, which is less than half. */
const formAndAnswer: Rule = ({ text }, task) => {
  const said = /^<think>[^]+<\/think>\s*<answer>([^<]*)<\/answer>$/.exec(text)?.[1]?.trim();
  const isSuccess = said === answerOf(task);
  return { reward: (said === undefined ? 0 : 0.1) + (isSuccess ? 0.9 : 0), isSuccess };
};

const minusOne: Rule = ({ text }, task) => (text.trim() === answerOf(task) ? 1 : -1);

export const soundRewards: readonly Planted[] = [
  tutorial('frozen-lake/frozen_lake.yaml'),
  tutorial('math-agent/math_agent.yaml', { expected: 'answer' }),
  tutorial('werewolves/werewolves.yaml'),
  tutorial('langgraph-graph/market.yaml', { expected: 'answer' }),
  tutorial('countdown/countdown.yaml', { successFrom: 1 }),
  tutorial('environments/environments.yaml'),
  tutorial('office/office.yaml'),
  tutorial('learning-to-ask/learning_to_ask.yaml'),
  tutorial('documents/documents.yaml'),
  tutorial('json-extraction/json_extraction.yaml', { expected: 'order' }),
  tutorial('two-players/two_players.yaml'),
  tutorial('typed-tools/typed_tools.yaml', { expected: 'answer' }),
  tutorial('real-model/real_model.yaml', { expected: 'answer' }),
  tutorial('real-tools/real_tools.yaml', { expected: 'answer' }),
  byCompare(
    'number',
    Array.from({ length: numTasks }, (_none, at) => String(at * 137 + 1005)),
  ),
  byCompare('text', cities),
  byCompare('choice', [...'ABCDABCDBBCA']),
  byCompare(
    'expression',
    Array.from({ length: 12 }, (_none, at) => `x^2 + ${at + 3}`),
  ),
  byCompare(
    'set',
    Array.from({ length: 12 }, (_none, at) => `${at}, ${at + 5}, ${at + 9}`),
  ),
  judge('countdown', { judgeType: 'countdown' } as ConfigInput['taskJudge'], countdownTasks),
  judge(
    'combined',
    {
      judgeType: 'combined',
      combined: { parts: { answer: 0.8, countdown: 0.2 } },
      answer: { compare: 'number' },
    } as ConfigInput['taskJudge'],
    toTasks(
      Array.from({ length: 12 }, (_none, at) => [
        `Reach ${at + 20} with 3, 8 and ${at + 1}.`,
        { answer: String(at + 20), target: at + 20, numbers: [3, 8, at + 1] },
      ]),
    ),
  ),
  judge('tests', { judgeType: 'tests', tests: { language: 'javascript' } } as ConfigInput['taskJudge'], codeTasks, {
    expected: 'solution',
    tasks: 4,
  }),
  { name: 'the last box', pays: [], createJob: () => jobOf(askOnce(lastMark)), options: byAnswer },
  { name: 'a tenth for the form', pays: [], createJob: () => jobOf(askOnce(formAndAnswer)), options: byAnswer },
  { name: 'minus one for a wrong answer', pays: [], createJob: () => jobOf(askOnce(minusOne)), options: byAnswer },
  {
    name: 'an answer after a search',
    pays: [],
    createJob: () => jobOf(useTool(({ text }, task) => (text.trim() === answerOf(task) ? 1 : 0))),
    options: byAnswer,
  },
];
