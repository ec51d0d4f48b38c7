import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '@agentjet/core';
import { asModel, ReActAgent, Toolkit, type Tool } from '@agentjet/react';
import { Outage, type Judge, type Task, type Verdict } from 'agentjet';
import { lookUpIn } from '#tutorial/documents/look-workflow.js';
import { openLibrary } from '#tutorial/documents/library.js';
import { FrozenLakeWorkflow } from '#tutorial/frozen-lake/frozen-lake-workflow.js';
import { AskWorkflow } from '#tutorial/learning-to-ask/ask-workflow.js';
import { FactsJudge, RuleJudge, shareFound } from '#tutorial/learning-to-ask/judges.js';
import type { Patient } from '#tutorial/learning-to-ask/patients.js';
import { AnswerJudge } from '#tutorial/math-agent/answer-judge.js';
import { calculate, systemPrompt } from '#tutorial/math-agent/calculator.js';
import { readProblem } from '#tutorial/math-agent/problems.js';
import { solveProblem as solveWithOpenai } from '#tutorial/math-agent/workflows/openai.js';
import { solveProblem } from '#tutorial/math-agent/workflows/react.js';
import { drawTasks as drawJobs } from '#tutorial/office/jobs.js';
import { office } from '#tutorial/office/office-world.js';
import { doJob } from '#tutorial/office/office-workflow.js';
import type { Plant } from '../plant.js';
import { documentTasks } from './document-tasks.js';
import { answerOf, answerText, type Execute, lakes, mapTasks, patients, problems, smallJob } from './jobs.js';

/**
 * Mistakes of users, one in each run. The author knew the names of the causes but not their limits, and wrote the
 * expected cause before the doctor read the run.
 */

const scored = (reward: number, isSuccess = reward >= 1): Verdict => ({ reward, isSuccess });
const strict: Judge['judge'] = ({ metadata }, output) => scored(answerOf(output) === metadata['answer'] ? 1 : 0);

/** The labels come from a file with Windows line ends, and the judge compares them with ===. */
const crlfLabels: Plant = {
  name: 'by-others.labels-with-crlf',
  cause: 'never_solved',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 10,
      workflow: solveProblem,
      judge: strict,
      tasks: mapTasks(problems(11), (task) => ({
        ...task,
        metadata: { ...task.metadata, answer: `${String(task.metadata['answer'])}\r` },
      })),
    }),
};

/** The judge looks for the mark #### of GSM8K, but the prompt does not ask for it. */
const missingMark: Plant = {
  name: 'by-others.mark-nobody-asked-for',
  cause: 'format_not_met',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 10,
      workflow: solveWithOpenai,
      judge: ({ metadata }, output) =>
        scored(Number(/####\s*(-?[\d.]+)/.exec(answerOf(output))?.[1]) === metadata['answer'] ? 1 : 0),
      tasks: problems(12),
    }),
};

/** The token limit of an answer fits the last answer, but is shorter than a tool call. */
const twelveTokens: Plant = {
  name: 'by-others.twelve-tokens',
  cause: 'cut_answers',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 10,
      workflow: solveProblem,
      judge: new AnswerJudge(),
      tasks: problems(13),
      rollout: { maxResponseLengthInOneTurn: 12 },
    }),
};

/** The learning rate is 1.5e-2 instead of 5e-4. */
const thirtyTimes: Plant = {
  name: 'by-others.rate-times-thirty',
  cause: 'collapsed',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 16,
      workflow: FrozenLakeWorkflow,
      tasks: lakes(14),
      settings: { lr: 1.5e-2 },
      trainerCommon: { testFreq: 4 },
    }),
};

/** The run samples at a temperature that was right in production. */
const nearlyGreedy: Plant = {
  name: 'by-others.nearly-greedy',
  cause: 'temperature_too_low',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 10,
      workflow: FrozenLakeWorkflow,
      tasks: lakes(15),
      rollout: { temperature: 0.02 },
    }),
};

/** The name of a field is misspelt, so the judge looks for an empty string in the answer. */
const misspelt: Plant = {
  name: 'by-others.misspelt-field',
  cause: 'always_solved',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 10,
      workflow: solveWithOpenai,
      judge: ({ metadata }, output) => scored(answerOf(output).includes(answerText(metadata['anwser'])) ? 1 : 0),
      tasks: problems(16),
    }),
};

/** The expected states of one kind of job come from an older copy of the bank. */
function withOldAccounts(task: Task): Task {
  const job = task.metadata as { readonly kind: string; readonly after: { readonly paid: readonly object[] } };
  if (job.kind !== 'pay') return task;
  const paid = job.after.paid.map((each) => ({ ...each, account: 1 }));
  return { ...task, metadata: { ...job, after: { ...job.after, paid } } };
}

const oldBank: Plant = {
  name: 'by-others.labels-of-an-older-bank',
  cause: 'one_kind',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 19,
      workflow: doJob,
      tasks: mapTasks(
        {
          training: drawJobs('training', { seed: 17, count: 512 }),
          validation: drawJobs('evaluation', { seed: 1, count: 60 }),
        },
        withOldAccounts,
      ),
      taskJudge: { judgeType: 'environment' },
      settings: { model: 'micro', batchSize: 4, lr: 1e-3 },
      trainerCommon: { testFreq: 0 },
    }).setEnvironment(office),
};

/** The user chose only two episodes per task, to save time. */
const pairs: Plant = {
  name: 'by-others.two-episodes-a-task',
  cause: 'no_spread',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 24,
      workflow: solveProblem,
      judge: new AnswerJudge(),
      tasks: problems(18),
      settings: { numRepeat: 2, batchSize: 16, lr: 1e-4 },
    }),
};

/** Gives up to ten points for brevity, and one for the facts. */
class FactsAndBrevity {
  judge({ metadata }: Task, output: { readonly metadata?: Readonly<Record<string, unknown>> }): Verdict {
    const questions = (output.metadata?.['questions'] ?? []) as readonly string[];
    const found = shareFound(metadata as Patient, questions);
    const brevity = Math.max(0, 10 - questions.join(' ').length / 12);
    return { reward: found + brevity, isSuccess: found === 1, parts: { facts: found, brevity } };
  }
}

const tenPoints: Plant = {
  name: 'by-others.brevity-has-ten-points',
  cause: 'one_part',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 20,
      workflow: AskWorkflow,
      judge: new FactsAndBrevity(),
      tasks: patients(19),
      rollout: { maxResponseLengthInOneTurn: 32 },
      settings: { model: 'micro' },
    }),
};

/** The key of the search service has expired. The tool catches the error and returns the message as its result. */
const expiredKey: Plant = {
  name: 'by-others.expired-key',
  cause: 'swallowed_errors',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 10,
      workflow: lookUpIn({ ...openLibrary([]), search: () => ['Error: request failed with status code 401'] }),
      tasks: documentTasks(),
      taskJudge: { judgeType: 'answer', answer: { compare: 'text' } },
      settings: { model: 'micro' },
    }),
};

/** The training tasks are sums and differences, but the held-out tasks are products and quotients. */
const otherHeldOut: Plant = {
  name: 'by-others.held-out-of-another-kind',
  cause: 'hollow_reward',
  open: ({ experimentDir }) => {
    const { training, validation } = problems(20, 100);
    const isSum = ({ mainQuery }: Task): boolean => '+-'.includes(readProblem(mainQuery).operator);
    return smallJob({
      experimentDir,
      steps: 24,
      workflow: solveProblem,
      judge: new AnswerJudge(),
      tasks: { training: training.filter(isSum), validation: validation.filter((task) => !isSum(task)) },
      settings: { lr: 1e-3 },
      trainerCommon: { testFreq: 8 },
    });
  },
};

/** The run has only six patients, so it trains on the same tasks at each step. */
const sixPatients: Plant = {
  name: 'by-others.six-patients',
  cause: 'too_few_tasks',
  open: ({ experimentDir }) => {
    const { training, validation } = patients(21, 60);
    const belly = training.filter(({ metadata }) => ['belly', 'knee'].includes(String(metadata['ailment'])));
    return smallJob({
      experimentDir,
      steps: 30,
      workflow: AskWorkflow,
      judge: new FactsJudge(),
      tasks: { training: belly.slice(0, 6), validation },
      rollout: { maxResponseLengthInOneTurn: 32 },
      settings: { model: 'micro', batchSize: 6, lr: 1e-3 },
    });
  },
};

/** A judge that asks a service. The service does not answer two of five requests in time. */
class SlowJudge {
  #requests = 0;

  judge({ metadata }: Task, output: Parameters<Judge['judge']>[1]): Verdict {
    this.#requests++;
    if (this.#requests % 5 < 2) throw new Outage('the judge did not answer within 1 s', { host: 'judge.internal' });
    return scored(Number(answerOf(output)) === metadata['answer'] ? 1 : 0);
  }
}

const slowJudge: Plant = {
  name: 'by-others.judge-times-out',
  cause: 'outages',
  open: ({ experimentDir }) =>
    smallJob({ experimentDir, steps: 12, workflow: solveProblem, judge: new SlowJudge(), tasks: problems(22) }),
};

/** Scores like a model at a high temperature: the same answer gets different scores. */
class MoodyJudge {
  readonly #random = createRandom(23);

  judge({ metadata }: Task, output: Parameters<Judge['judge']>[1]): Verdict {
    const isRight = answerOf(output) !== '' && Number(answerOf(output)) === metadata['answer'];
    const score = Math.round(10 * Math.min(1, Math.max(0, (isRight ? 0.65 : 0.35) + this.#random.next() - 0.5))) / 10;
    return scored(score, score >= 0.7);
  }
}

const moodyJudge: Plant = {
  name: 'by-others.moody-judge',
  cause: 'judge_unstable',
  open: ({ experimentDir }) =>
    smallJob({ experimentDir, steps: 20, workflow: solveProblem, judge: new MoodyJudge(), tasks: problems(23) }),
};

/** Runs the math agent with another tool, or with another name for its tool. */
const solveWith =
  (tool: Pick<Tool, 'name' | 'execute'>): Execute =>
  async (task, tuner) => {
    const agent = new ReActAgent({
      name: 'solver',
      systemPrompt,
      model: asModel(tuner, { agentName: 'solver' }),
      toolkit: new Toolkit([
        {
          description: 'Computes two numbers.',
          parameters: { type: 'object', properties: { expression: { type: 'string' } }, required: ['expression'] },
          ...tool,
        },
      ]),
      maxIterations: 4,
    });
    const { content } = await agent.reply(
      { name: 'user', role: 'user', content: task.mainQuery },
      { signal: tuner.signal },
    );
    return { metadata: { answer: content } };
  };

/** The tool has a new name, but the model was taught the old one. */
const renamedTool: Plant = {
  name: 'by-others.renamed-tool',
  cause: 'tools_refused',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 10,
      workflow: solveWith({
        name: 'evaluate_arithmetic',
        execute: ({ expression }) => calculate(String(expression)),
      }),
      judge: new AnswerJudge(),
      tasks: problems(24),
    }),
};

/** The learning rate comes from the recipe of a large model. */
const largeModelRate: Plant = {
  name: 'by-others.rate-of-a-large-model',
  cause: 'rate_too_low',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 12,
      workflow: FrozenLakeWorkflow,
      tasks: lakes(25),
      settings: { lr: 1e-7 },
    }),
};

const boiling: Plant = {
  name: 'by-others.boiling',
  cause: 'temperature_too_high',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 12,
      workflow: FrozenLakeWorkflow,
      tasks: lakes(26),
      rollout: { temperature: 3 },
    }),
};

/** Three of every eight walks wait for a service that never answers. */
class HangingLake extends FrozenLakeWorkflow {
  static walks = 0;

  override async execute(...[task, tuner]: Parameters<FrozenLakeWorkflow['execute']>) {
    HangingLake.walks++;
    if ([0, 3, 5].includes(HangingLake.walks % 8)) await sleep(60_000, undefined, { signal: tuner.signal });
    return super.execute(task, tuner);
  }
}

const hanging: Plant = {
  name: 'by-others.service-that-hangs',
  cause: 'failed_episodes',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 12,
      workflow: HangingLake,
      tasks: lakes(27),
      rollout: { episodeTimeout: 3, failedEpisodePolicy: 'partial_group' },
    }),
};

/** One walk in thirty waits six seconds for a service, so each step waits for its slowest walk. */
class RarelySlowLake extends FrozenLakeWorkflow {
  static walks = 0;

  override async execute(...[task, tuner]: Parameters<FrozenLakeWorkflow['execute']>) {
    RarelySlowLake.walks++;
    if (RarelySlowLake.walks % 30 === 7) await sleep(6000, undefined, { signal: tuner.signal });
    return super.execute(task, tuner);
  }
}

const rarelySlow: Plant = {
  name: 'by-others.rarely-slow-service',
  cause: 'stragglers',
  open: ({ experimentDir }) => smallJob({ experimentDir, steps: 12, workflow: RarelySlowLake, tasks: lakes(28) }),
};

/** Judges by the rules of the tutorial, with one wrong sign: longer questions earn more instead of less. */
class LongQuestions extends RuleJudge {
  override judge(...[task, output]: Parameters<RuleJudge['judge']>): Verdict {
    const verdict = super.judge(task, output);
    return { ...verdict, reward: verdict.reward + answerOf(output).length / 30 };
  }
}

const longQuestions: Plant = {
  name: 'by-others.penalty-with-the-wrong-sign',
  cause: 'length_drift',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 24,
      workflow: AskWorkflow,
      judge: new LongQuestions(),
      tasks: patients(29),
      rollout: { maxResponseLengthInOneTurn: 64 },
      settings: { model: 'micro' },
    }),
};

export const plantsByOthers: readonly Plant[] = [
  crlfLabels,
  missingMark,
  twelveTokens,
  thirtyTimes,
  nearlyGreedy,
  misspelt,
  oldBank,
  pairs,
  tenPoints,
  expiredKey,
  otherHeldOut,
  sixPatients,
  slowJudge,
  moodyJudge,
  renamedTool,
  largeModelRate,
  boiling,
  hanging,
  rarelySlow,
  longQuestions,
];
