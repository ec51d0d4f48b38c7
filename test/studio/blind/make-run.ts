/**
 * Makes the run of the test with a blind reader: `npx tsx --tsconfig tsconfig.paths.json test/studio/blind/make-run.ts
 * <folder>`. An agent with a calculator learns word problems. Two weaknesses are planted, and a reader who knows
 * neither this file nor the run must find both in the studio. README.md has the rest.
 */
import { AgentJetJob, type Task, type Tuner, type WorkflowOutput } from 'agentjet';
import { asModel } from '@agentjet/react';
import { calculate } from '#tutorial/math-agent/calculator.js';
import { calculator, solve } from '#tutorial/math-agent/agents/react.js';
import { drawTasks } from '#tutorial/math-agent/generate-data.js';
import { readProblem } from '#tutorial/math-agent/problems.js';

const [batchSize, numRepeat, steps] = [10, 8, 36];
/** The second weakness begins with the training episodes of this step. */
const brokenStep = 22;
/** From then on, the calculator refuses larger numbers. */
const mostNumber = 49;

/** The first weakness: the expected answers of tasks that ask for a price have a currency, and the judge compares text. */
function withCurrency(task: Task): Task {
  const answer = String(task.metadata['answer']);
  return { ...task, metadata: { answer: task.mainQuery.includes('cost?') ? `${answer} EUR` : answer } };
}

/** Only sums and products, because nano learns both in a few steps. */
const tasksOf = (split: 'training' | 'validation', count: number): readonly Task[] =>
  drawTasks(split, { seed: 41, count: 3 * count })
    .filter(({ mainQuery }) => '+*'.includes(readProblem(mainQuery).operator))
    .slice(0, count)
    .map(withCurrency);

let begun = 0;

/** The second weakness: the calculator of the last steps. */
const smallCalculator = {
  ...calculator,
  execute: ({ expression }: Readonly<Record<string, unknown>>): string => {
    const numbers = String(expression).match(/\d+/g) ?? [];
    const isRefused = numbers.some((number) => Number(number) > mostNumber);
    return isRefused ? 'error: the operand is out of range' : calculate(String(expression));
  },
};

async function execute(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  if (task.taskId.startsWith('training')) begun++;
  const tool = begun > (brokenStep - 1) * batchSize * numRepeat ? smallCalculator : calculator;
  const answer = await solve(task.mainQuery, asModel(tuner, { agentName: 'solver' }), tuner.signal, tool);
  return { metadata: { answer } };
}

const [experimentDir = 'blind'] = process.argv.slice(2);
const { successBefore, successAfter } = await new AgentJetJob({
  model: 'nano',
  experimentDir,
  experimentName: 'word-problems',
  numRepeat,
  batchSize,
  lr: 7e-4,
  seed: 5,
  config: {
    rollout: { failedEpisodePolicy: 'zero_reward' },
    taskJudge: { judgeType: 'answer', answer: { compare: 'text' } },
    trainerCommon: { totalTrainingSteps: steps, testFreq: 6, saveFreq: 0 },
  },
})
  .setWorkflow(execute)
  .setData({ training: tasksOf('training', 360), validation: tasksOf('validation', 60) })
  .tune();
console.log(`success ${successBefore} -> ${successAfter}`);
