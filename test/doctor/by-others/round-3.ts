import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom, deriveSeed } from '@agentjet/core';
import { nanoModelDir } from '@agentjet/nano';
import { asModel as asClient } from '@agentjet/openai';
import { Outage, type Task, type Tuner, type Verdict, type WorkflowOutput } from 'agentjet';
import { directions, FrozenLake, type LakeMap } from '#tutorial/frozen-lake/frozen-lake.js';
import { FrozenLakeWorkflow } from '#tutorial/frozen-lake/frozen-lake-workflow.js';
import { readExpression, tools } from '#tutorial/math-agent/agents/openai.js';
import { AnswerJudge } from '#tutorial/math-agent/answer-judge.js';
import { calculate, systemPrompt } from '#tutorial/math-agent/calculator.js';
import { solveProblem } from '#tutorial/math-agent/workflows/react.js';
import { findName } from '#tutorial/werewolves/village.js';
import type { Plant } from '../plant.js';
import { answerOf, lakes, mapTasks, problems, smallJob, type Tasks } from './jobs.js';
import { killTheFirst, nightTasks, stepOnce } from './short-tasks.js';

/** A third round of mistakes of users, and three healthy runs. The expected causes were written before the runs. */

export const scored = (isSuccess: boolean): Verdict => ({ reward: isSuccess ? 1 : 0, isSuccess });

export const sightsOf = (task: Task): readonly string[] =>
  new FrozenLake(task.metadata['map'] as LakeMap).describe().split('\n');

/** Returns whether one step leads onto ice and closer to the goal. */
export const isCloser = (task: Task, output: WorkflowOutput): boolean =>
  sightsOf(task).includes(`${answerOf(output)}: ice, closer`);

const holesOf = (task: Task): readonly string[] =>
  directions.filter((direction) => sightsOf(task).some((line) => line.startsWith(`${direction}: hole`)));

/** Returns whether the answer is the direction of the only hole in sight. */
const isHole = (task: Task, output: WorkflowOutput): boolean => holesOf(task)[0] === answerOf(output);

function lakesWithOneHole(seed: number): Tasks {
  const { training, validation } = lakes(seed, 160);
  const hasOne = (task: Task): boolean => holesOf(task).length === 1;
  return { training: training.filter(hasOne), validation: validation.filter(hasOne).slice(0, 80) };
}

/** Copies nano and changes its chat template. */
function nanoWithTemplate(experimentDir: string, change: (template: string) => string): string {
  const folder = path.join(experimentDir, 'model');
  cpSync(nanoModelDir, folder, { recursive: true });
  const file = path.join(folder, 'tokenizer_config.json');
  const config = JSON.parse(readFileSync(file, 'utf8')) as { readonly chat_template: string };
  writeFileSync(file, JSON.stringify({ ...config, chat_template: change(config.chat_template) }));
  return folder;
}

/** Verdicts are cached to save calls of the judge. The key is the task, and the answer is missing in it. */
class CachedJudge {
  readonly #verdicts = new Map<string, Verdict>();

  judge(task: Task, output: WorkflowOutput): Verdict {
    const verdict = this.#verdicts.get(task.taskId) ?? scored(isCloser(task, output));
    this.#verdicts.set(task.taskId, verdict);
    return verdict;
  }
}

const cachedVerdicts: Plant = {
  name: 'by-others.verdicts-cached-by-task',
  cause: 'no_spread',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 12,
      workflow: stepOnce,
      judge: new CachedJudge(),
      tasks: lakes(301),
      settings: { seed: 51 },
      trainerCommon: { testFreq: 6 },
    }),
};

/** The agent's own request has max_tokens 16, copied from a classifier. The run's limit is much larger. */
async function solveInSixteen({ mainQuery }: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const client = asClient(tuner, { agentName: 'solver' });
  const messages: Parameters<typeof client.chat.completions.create>[0]['messages'] = [
    { role: 'system', content: systemPrompt },
    { role: 'user', content: mainQuery },
  ];
  for (let numCalls = 0; numCalls < 3; numCalls++) {
    const { choices } = await client.chat.completions.create(
      { model: 'gpt-4o-mini', messages, tools, max_tokens: 16 },
      { signal: tuner.signal },
    );
    const message = choices[0]?.message;
    if (message === undefined) break;
    messages.push(message);
    const calls = (message.tool_calls ?? []).filter((call) => call.type === 'function');
    if (calls.length === 0) return { metadata: { answer: message.content ?? '' } };
    for (const { id, function: called } of calls)
      messages.push({ role: 'tool', tool_call_id: id, content: calculate(readExpression(called.arguments)) });
  }
  return { metadata: { answer: '' } };
}

const limitInTheRequest: Plant = {
  name: 'by-others.limit-in-the-request',
  cause: 'cut_answers',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 10,
      workflow: solveInSixteen,
      judge: new AnswerJudge(),
      tasks: problems(302),
      settings: { seed: 52 },
      trainerCommon: { testFreq: 5 },
    }),
};

/** The rate is that of a run of a large model, and so is the warm-up: it takes nine of the twelve steps. */
const longWarmup: Plant = {
  name: 'by-others.warm-up-of-a-longer-run',
  cause: 'rate_too_low',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 12,
      workflow: stepOnce,
      judge: (task, output) => scored(isCloser(task, output)),
      tasks: lakes(303, 80),
      settings: { seed: 53, lr: 2e-6 },
      trainerCommon: { testFreq: 6, optim: { lrWarmupSteps: 9 } },
    }),
};

/** The chat template was written for a model without tools, so the model never sees that there is a calculator. */
const templateWithoutTools: Plant = {
  name: 'by-others.template-without-tools',
  cause: 'tools_not_called',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 10,
      workflow: solveProblem,
      judge: new AnswerJudge(),
      tasks: problems(304),
      settings: {
        seed: 54,
        model: nanoWithTemplate(experimentDir, (template) =>
          template.replace(/\{%- if tools %\}[\s\S]*?\{%- elif messages/, '{%- if messages'),
        ),
      },
      trainerCommon: { testFreq: 5 },
    }),
};

/** As in the templates of Mistral, the last user message contains the system prompt. So each turn moves it. */
const systemPromptLast: Plant = {
  name: 'by-others.system-prompt-in-the-last-message',
  cause: 'template_forks',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 8,
      workflow: FrozenLakeWorkflow,
      tasks: lakes(305),
      settings: {
        seed: 55,
        batchSize: 5,
        numRepeat: 6,
        model: nanoWithTemplate(
          experimentDir,
          () => `{%- for message in messages %}
{%- if message.role != 'system' %}
{{- '<|im_start|>' + message.role + '\\n' }}
{%- if loop.last and messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
{{- message.content + '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- endif %}
`,
        ),
      },
      trainerCommon: { testFreq: 4 },
    }),
};

/** The square of the moves is added as a bonus for caution, so it pays to walk against the edge until the end. */
class BonusLake extends FrozenLakeWorkflow {
  override async execute(...[task, tuner]: Parameters<FrozenLakeWorkflow['execute']>) {
    const output = await super.execute(task, tuner);
    const moves = Number(output.logMetrics?.['moves']) - (output.metadata?.['end'] === 'hole' ? 1 : 0);
    return { ...output, reward: Number(output.reward) + moves ** 2 / 20 };
  }
}

const aliveBonus: Plant = {
  name: 'by-others.bonus-for-each-move',
  cause: 'hollow_reward',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 20,
      workflow: BonusLake,
      tasks: lakes(306),
      settings: { seed: 56, batchSize: 6, numRepeat: 6, lr: 1e-3 },
      trainerCommon: { testFreq: 10 },
    }),
};

/** The time of a walk is subtracted in milliseconds. It was meant in seconds. */
class TimedLake extends FrozenLakeWorkflow {
  override async execute(...[task, tuner]: Parameters<FrozenLakeWorkflow['execute']>) {
    const began = performance.now();
    const { isSuccess, metadata } = await super.execute(task, tuner);
    return { metadata: { ...metadata, isSuccess, took: performance.now() - began } };
  }
}

const milliseconds: Plant = {
  name: 'by-others.time-in-milliseconds',
  cause: 'one_part',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 10,
      workflow: TimedLake,
      judge: (_, { metadata }) => {
        const isSuccess = metadata?.['isSuccess'] === true;
        const parts = { goal: isSuccess ? 1 : 0, time: -Number(metadata?.['took']) };
        return { reward: parts.goal + parts.time, isSuccess, parts };
      },
      tasks: lakes(307),
      settings: { seed: 57, batchSize: 6, numRepeat: 6 },
      trainerCommon: { testFreq: 5 },
    }),
};

/** An upsampling step repeated the few labelled lakes, each with its own id. So 400 rows are four different tasks. */
function upsampled({ training, validation }: Tasks): Tasks {
  const few = directions.flatMap((direction) => training.filter((task) => holesOf(task)[0] === direction).slice(0, 1));
  const copies = Array.from({ length: 100 }, (_, copy) =>
    few.map((task) => ({ ...task, taskId: `${task.taskId}-copy-${copy}` })),
  );
  return { training: copies.flat(), validation };
}

const copiedRows: Plant = {
  name: 'by-others.rows-copied-to-400',
  cause: 'too_few_tasks',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 30,
      workflow: stepOnce,
      judge: (task, output) => scored(isHole(task, output)),
      tasks: upsampled(lakesWithOneHole(308)),
      settings: { seed: 58, lr: 5e-4 },
      trainerCommon: { testFreq: 10 },
    }),
};

/** The score is read from a model's text. The pattern misses most of the texts, and then the score is 5 of 10. */
class PatternJudge {
  readonly #random = createRandom(deriveSeed(309, 'texts'));

  judge(task: Task, output: WorkflowOutput): Verdict {
    const score = isCloser(task, output) ? 9 : 2;
    const text = this.#random.int(25) === 0 ? `score: ${score}` : `**Score**: ${score}/10`;
    const reward = Number(/^score: (\d+)/.exec(text)?.[1] ?? 5) / 10;
    return { reward, isSuccess: reward >= 0.8 };
  }
}

const patternMisses: Plant = {
  name: 'by-others.pattern-misses-the-score',
  cause: 'judge_undecided',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 12,
      workflow: stepOnce,
      judge: new PatternJudge(),
      tasks: lakes(309),
      settings: { seed: 59 },
      trainerCommon: { testFreq: 6 },
    }),
};

/** The service with the lakes restarts every ten seconds, and cannot be reached for the last four of them. */
async function stepOverTheNetwork(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  await sleep(200, undefined, { signal: tuner.signal });
  if (performance.now() % 10_000 > 6000)
    throw new Outage('connect ECONNREFUSED 10.0.3.7:8443', { host: 'lakes.internal' });
  return stepOnce(task, tuner);
}

const restartingService: Plant = {
  name: 'by-others.service-that-restarts',
  cause: 'outages',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 10,
      workflow: stepOverTheNetwork,
      judge: (task, output) => scored(isCloser(task, output)),
      tasks: lakes(310),
      settings: { seed: 60 },
      trainerCommon: { testFreq: 5 },
    }),
};

/** The table of scores has -999 for a missing score. Few pairs of a lake and a direction have none. */
const isMissing = (task: Task, output: WorkflowOutput): boolean =>
  deriveSeed(311, JSON.stringify(task.metadata['map']), answerOf(output)) % 130 === 0;

const missingScores: Plant = {
  name: 'by-others.score-999-for-missing',
  cause: 'gradient_spikes',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 20,
      workflow: stepOnce,
      judge: (task, output) =>
        isMissing(task, output) ? { reward: -999, isSuccess: false } : scored(isCloser(task, output)),
      tasks: lakes(311),
      settings: { seed: 61, algorithm: 'dr_grpo', lr: 2e-4 },
      trainerCommon: { testFreq: 10 },
    }),
};

/** Half of the labels were translated with the file that they were in. The prompt is English for all tasks. */
const spanish: Readonly<Record<string, string>> = { up: 'arriba', down: 'abajo', left: 'izquierda', right: 'derecha' };

const translatedLabels: Plant = {
  name: 'by-others.labels-translated-for-half',
  cause: 'one_kind',
  open: ({ experimentDir }) => {
    let at = 0;
    const tasks = mapTasks(lakes(312, 80), (task) => {
      const kind = at++ % 2 === 0 ? 'file-en' : 'file-es';
      const good = directions.filter((direction) => sightsOf(task).includes(`${direction}: ice, closer`));
      return {
        ...task,
        metadata: { ...task.metadata, kind, good: kind === 'file-en' ? good : good.map((each) => spanish[each]) },
      };
    });
    return smallJob({
      experimentDir,
      steps: 14,
      workflow: stepOnce,
      judge: ({ metadata }, output) => scored((metadata['good'] as readonly string[]).includes(answerOf(output))),
      tasks,
      settings: { seed: 62, batchSize: 12, lr: 1e-3 },
      trainerCommon: { testFreq: 7, reportBy: 'kind' },
    });
  },
};

export const plantsOfRound3: readonly Plant[] = [
  cachedVerdicts,
  limitInTheRequest,
  longWarmup,
  templateWithoutTools,
  systemPromptLast,
  aliveBonus,
  milliseconds,
  copiedRows,
  patternMisses,
  restartingService,
  missingScores,
  translatedLabels,
];

const closer: Plant = {
  name: 'by-others.one-step-closer',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 16,
      workflow: stepOnce,
      judge: (task, output) => scored(isCloser(task, output)),
      tasks: lakes(321, 100),
      settings: { seed: 71, algorithm: 'reinforce_plus_plus', batchSize: 10, numRepeat: 6, lr: 8e-4 },
      trainerCommon: { testFreq: 8, optim: { lrWarmupSteps: 2 } },
    }),
};

/** A werewolf has to name the last of the others who is not its fellow. */
const lastVictim: Plant = {
  name: 'by-others.last-victim',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 18,
      workflow: async (task, tuner) => ({ metadata: (await killTheFirst(task, tuner)).metadata ?? {} }),
      judge: ({ metadata }, output) => {
        const { fellow, others } = metadata as { readonly fellow: string; readonly others: readonly string[] };
        return scored(findName(answerOf(output)) === others.findLast((name) => name !== fellow));
      },
      tasks: nightTasks(322, 80),
      rollout: { maxResponseLengthInOneTurn: 16 },
      settings: { seed: 72, algorithm: 'maxrl', batchSize: 12, numRepeat: 8, lr: 1e-3 },
      trainerCommon: { testFreq: 9 },
    }),
};

/** The reward of a walk is a number of points between 0 and 50: the earlier it reaches the goal, the more. */
class PointsLake extends FrozenLakeWorkflow {
  override async execute(...[task, tuner]: Parameters<FrozenLakeWorkflow['execute']>) {
    const output = await super.execute(task, tuner);
    return { ...output, reward: output.isSuccess === true ? 50 - 2 * Number(output.logMetrics?.['moves']) : 0 };
  }
}

const points: Plant = {
  name: 'by-others.lake-for-points',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 18,
      workflow: PointsLake,
      tasks: lakes(323, 60),
      rollout: { temperature: 0.9 },
      settings: { seed: 73, algorithm: 'rloo', batchSize: 6, numRepeat: 8, lr: 8e-4 },
      trainerCommon: { testFreq: 9 },
    }),
};

export const healthyOfRound3: readonly Plant[] = [closer, lastVictim, points];
