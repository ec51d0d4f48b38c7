import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom, deriveSeed } from '@agentjet/core';
import { asModel, ReActAgent, Toolkit } from '@agentjet/react';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';
import { directions } from '#tutorial/frozen-lake/frozen-lake.js';
import { FrozenLakeWorkflow } from '#tutorial/frozen-lake/frozen-lake-workflow.js';
import { AnswerJudge } from '#tutorial/math-agent/answer-judge.js';
import { systemPrompt } from '#tutorial/math-agent/calculator.js';
import { findName } from '#tutorial/werewolves/village.js';
import type { Plant } from '../plant.js';
import { answerOf, lakes, mapTasks, patients, problems, smallJob, type Tasks } from './jobs.js';
import { isCloser, scored, sightsOf } from './round-3.js';
import { askOneQuestion, asksNews, killTheFirst, nightTasks, stepOnce } from './short-tasks.js';

/** A fourth round of mistakes of users, and three healthy runs. The expected causes were written before the runs. */

const night = async (task: Task, tuner: Tuner): Promise<WorkflowOutput> => ({
  metadata: (await killTheFirst(task, tuner)).metadata ?? {},
});

function lakesWithAHole(seed: number): Tasks {
  const { training, validation } = lakes(seed, 160);
  const hasHole = (task: Task): boolean => sightsOf(task).some((line) => line.includes(': hole'));
  return { training: training.filter(hasHole), validation: validation.filter(hasHole).slice(0, 80) };
}

type Parts = Omit<Parameters<typeof smallJob>[0], 'experimentDir'>;

const run = (name: string, cause: string | undefined, parts: () => Parts): Plant => ({
  name: `by-others.${name}`,
  ...(cause !== undefined && { cause }),
  open: ({ experimentDir }) => smallJob({ experimentDir, ...parts() }),
});

/** The rows of a second export have no notes, and the agent reads their length. */
const missingNotes = run('notes-missing-in-one-export', 'failed_episodes', () => {
  let at = 0;
  return {
    steps: 8,
    workflow: (task, tuner) => {
      const { notes } = task.metadata as { readonly notes: string };
      return notes.length < 100 ? stepOnce(task, tuner) : Promise.resolve({ metadata: { answer: 'up' } });
    },
    judge: (task, output) => scored(isCloser(task, output)),
    tasks: mapTasks(lakes(401), (task) =>
      at++ % 5 < 2 ? task : { ...task, metadata: { ...task.metadata, notes: 'none' } },
    ),
    settings: { seed: 81, numRepeat: 6 },
    trainerCommon: { testFreq: 4 },
  };
});

/** The judge only tests that the answer is a direction. The test of the direction itself was left for later. */
const anyDirection = run('any-direction-is-right', 'always_solved', () => ({
  steps: 8,
  workflow: stepOnce,
  judge: (_, output) => scored(directions.some((each) => each === answerOf(output))),
  tasks: lakes(402),
  settings: { seed: 82, numRepeat: 6 },
  trainerCommon: { testFreq: 4 },
}));

/** The temperature was given in tenths, so it is 8 instead of 0.8. */
const tenths = run('temperature-in-tenths', 'temperature_too_high', () => ({
  steps: 8,
  workflow: askOneQuestion,
  judge: (task, output) => scored(asksNews(task, output)),
  tasks: patients(403),
  rollout: { temperature: 8, maxResponseLengthInOneTurn: 24 },
  settings: { model: 'micro', seed: 83, numRepeat: 6 },
  trainerCommon: { testFreq: 4 },
}));

/** The column of labels is the werewolf itself, and not its victim. */
const ownName = run('label-is-the-player', 'never_solved', () => ({
  steps: 8,
  workflow: night,
  judge: ({ metadata }, output) => scored(findName(answerOf(output)) === metadata['self']),
  tasks: nightTasks(404, 40),
  rollout: { maxResponseLengthInOneTurn: 16 },
  settings: { seed: 84, numRepeat: 6 },
  trainerCommon: { testFreq: 4 },
}));

/** The judge reads the move from JSON, but the prompt asks for one word. */
const jsonJudge = run('judge-reads-json', 'format_not_met', () => ({
  steps: 8,
  workflow: stepOnce,
  judge: (task, output) => {
    const move = /^\{"move": ?"(\w+)"\}$/.exec(answerOf(output))?.[1] ?? '';
    return scored(sightsOf(task).includes(`${move}: ice, closer`));
  },
  tasks: mapTasks(lakes(405), (task) => ({
    ...task,
    metadata: { ...task.metadata, answer: directions.find((each) => sightsOf(task).includes(`${each}: ice, closer`)) },
  })),
  settings: { seed: 85, numRepeat: 6 },
  trainerCommon: { testFreq: 4 },
}));

/** Two judges share the load at random, and one of them has the order of its two choices reversed. */
const reversedJudge = run('one-of-two-judges-reversed', 'judge_unstable', () => {
  const random = createRandom(deriveSeed(406, 'judges'));
  return {
    steps: 10,
    workflow: stepOnce,
    judge: (task, output) => scored(isCloser(task, output) !== (random.int(2) === 0)),
    tasks: lakes(406, 80),
    settings: { seed: 86, numRepeat: 10 },
    trainerCommon: { testFreq: 5 },
  };
});

/** The rate is 5e-2 instead of 5e-4, after a short warm-up. */
const wrongExponent = run('rate-without-two-zeros', 'collapsed', () => ({
  steps: 14,
  workflow: FrozenLakeWorkflow,
  tasks: lakes(407, 60),
  settings: { seed: 87, batchSize: 6, numRepeat: 6, lr: 5e-2 },
  trainerCommon: { testFreq: 2, optim: { lrWarmupSteps: 4 } },
}));

/** A tie-break for going up or left was meant to be 0.1, and is 10. */
const tieBreak = run('tie-break-of-ten', 'one_part', () => ({
  steps: 12,
  workflow: stepOnce,
  judge: (task, output) => {
    const isSuccess = isCloser(task, output);
    const parts = { closer: isSuccess ? 1 : 0, tie: ['up', 'left'].includes(answerOf(output)) ? 10 : 0 };
    return { reward: parts.closer + parts.tie, isSuccess, parts };
  },
  tasks: lakes(408, 60),
  settings: { seed: 88, numRepeat: 8 },
  trainerCommon: { testFreq: 6 },
}));

/** The calculator reads a field that has another name in the schema, so it throws at each call. */
const otherField = run('calculator-reads-another-field', 'swallowed_errors', () => ({
  steps: 8,
  workflow: async (task, tuner) => {
    const agent = new ReActAgent({
      name: 'solver',
      systemPrompt,
      model: asModel(tuner, { agentName: 'solver' }),
      toolkit: new Toolkit([
        {
          name: 'calculator',
          description: 'Computes two numbers.',
          parameters: { type: 'object', properties: { expression: { type: 'string' } }, required: ['expression'] },
          execute: (input) => (input as { readonly expr: string }).expr.trim(),
        },
      ]),
      maxIterations: 3,
    });
    const seen = { name: 'user', role: 'user', content: task.mainQuery } as const;
    const { content } = await agent.reply(seen, { signal: tuner.signal });
    return { metadata: { answer: content } };
  },
  judge: new AnswerJudge(),
  tasks: problems(409),
  settings: { seed: 89, numRepeat: 5 },
  trainerCommon: { testFreq: 4 },
}));

/** The judge compares the label with the first legal move of the task, and does not use the answer. */
const ignoresAnswer = run('judge-ignores-the-answer', 'no_spread', () => ({
  steps: 10,
  workflow: stepOnce,
  judge: (task) => scored(sightsOf(task).includes('right: ice, closer')),
  tasks: lakes(410),
  settings: { seed: 90, numRepeat: 6 },
  trainerCommon: { testFreq: 5 },
}));

/** A join lost the labels of the lakes in the south. */
const lostJoin = run('labels-lost-in-a-join', 'one_kind', () => {
  let at = 0;
  return {
    steps: 20,
    workflow: stepOnce,
    judge: (task, output) => scored(task.metadata['kind'] === 'north' && isCloser(task, output)),
    tasks: mapTasks(lakes(411, 80), (task) => ({
      ...task,
      metadata: { ...task.metadata, kind: at++ % 2 === 0 ? 'north' : 'south' },
    })),
    settings: { seed: 91, batchSize: 12, numRepeat: 6, lr: 3e-4 },
    trainerCommon: { testFreq: 10, reportBy: 'kind' },
  };
});

/** One call in forty starts a cold container of the simulator, which takes five seconds. */
const coldStarts = run('cold-containers', 'stragglers', () => {
  const random = createRandom(deriveSeed(412, 'containers'));
  return {
    steps: 8,
    workflow: async (task, tuner) => {
      if (random.int(40) === 0) await sleep(5000, undefined, { signal: tuner.signal });
      return stepOnce(task, tuner);
    },
    judge: (task, output) => scored(isCloser(task, output)),
    tasks: lakes(412),
    settings: { seed: 95, numRepeat: 8 },
    trainerCommon: { testFreq: 4 },
  };
});

export const plantsOfRound4: readonly Plant[] = [
  missingNotes,
  anyDirection,
  tenths,
  ownName,
  jsonJudge,
  reversedJudge,
  wrongExponent,
  tieBreak,
  otherField,
  ignoresAnswer,
  lostJoin,
  coldStarts,
];

const news = run('ask-something-new', undefined, () => ({
  steps: 24,
  workflow: askOneQuestion,
  judge: (task, output) => scored(asksNews(task, output)),
  tasks: patients(424, 120),
  rollout: { maxResponseLengthInOneTurn: 24 },
  settings: { model: 'micro', algorithm: 'rloo', seed: 96, batchSize: 10, lr: 5e-4 },
  trainerCommon: { testFreq: 12 },
}));

const neighbour = run('name-the-first-player', undefined, () => ({
  steps: 16,
  workflow: night,
  judge: ({ metadata }, output) => scored(findName(answerOf(output)) === (metadata['others'] as readonly string[])[0]),
  tasks: nightTasks(422, 100),
  rollout: { maxResponseLengthInOneTurn: 16, temperature: 0.9 },
  settings: { algorithm: 'maxrl', seed: 93, batchSize: 10, lr: 1e-3 },
  trainerCommon: { testFreq: 8 },
}));

const intoHole = run('one-step-into-a-hole', undefined, () => ({
  steps: 18,
  workflow: stepOnce,
  judge: (task, output) => scored(sightsOf(task).some((line) => line.startsWith(`${answerOf(output)}: hole`))),
  tasks: lakesWithAHole(425),
  settings: { algorithm: 'dr_grpo', seed: 97, batchSize: 10, numRepeat: 7, lr: 6e-4 },
  trainerCommon: { testFreq: 9 },
}));

const lastPlayer = run('name-the-last-player', undefined, () => ({
  steps: 16,
  workflow: night,
  judge: ({ metadata }, output) =>
    scored(findName(answerOf(output)) === (metadata['others'] as readonly string[]).at(-1)),
  tasks: nightTasks(426, 80),
  rollout: { maxResponseLengthInOneTurn: 16 },
  settings: { algorithm: 'rloo', seed: 98, batchSize: 12, numRepeat: 9, lr: 7e-4 },
  trainerCommon: { testFreq: 8 },
}));

export const healthyOfRound4: readonly Plant[] = [news, neighbour, intoHole, lastPlayer];
