import { AgentJetJob, type Judge, type Task, type WorkflowOutput, type Tuner } from 'agentjet';
import { drawTasks as drawLakes } from '#tutorial/frozen-lake/lake-tasks.js';
import { drawTasks as drawPatients } from '#tutorial/learning-to-ask/patients.js';
import { drawTasks as drawProblems } from '#tutorial/math-agent/generate-data.js';

/** The parts that the runs of this folder share. Each run names its tasks, its workflow, and its own settings. */

export type Tasks = { readonly training: readonly Task[]; readonly validation: readonly Task[] };
type Settings = NonNullable<ConstructorParameters<typeof AgentJetJob>[0]>;
export type Execute = (task: Task, tuner: Tuner) => Promise<WorkflowOutput>;

type Parts = {
  readonly experimentDir: string;
  readonly workflow: Parameters<AgentJetJob['setWorkflow']>[0];
  readonly tasks: Tasks;
  readonly judge?: Judge | Judge['judge'];
  readonly steps: number;
  readonly rollout?: object;
  readonly trainerCommon?: object;
  readonly taskJudge?: object;
  readonly settings?: Settings;
};

/** Returns a job with eight tasks of eight episodes per step. `settings` can change both numbers. */
export function smallJob(parts: Parts): AgentJetJob {
  const { experimentDir, workflow, tasks, judge, steps, rollout, trainerCommon, taskJudge, settings = {} } = parts;
  const job = new AgentJetJob({
    model: 'nano',
    experimentDir,
    batchSize: 8,
    numRepeat: 8,
    lr: 5e-4,
    seed: 3,
    ...settings,
    config: {
      rollout: { failedEpisodePolicy: 'zero_reward', ...rollout },
      trainerCommon: { totalTrainingSteps: steps, saveFreq: 0, testFreq: 10, ...trainerCommon },
      ...(taskJudge !== undefined && { taskJudge }),
    },
  })
    .setWorkflow(workflow)
    .setData(tasks);
  return judge === undefined ? job : job.setJudge(judge);
}

export const lakes = (seed: number, held = 40): Tasks => ({
  training: drawLakes('training', { seed, count: 512 }),
  validation: drawLakes('evaluation', { seed: 1, count: held }),
});

export const problems = (seed: number, held = 40): Tasks => ({
  training: drawProblems('training', { seed, count: 512 }),
  validation: drawProblems('validation', { seed: 1, count: held }),
});

export const patients = (seed: number, held = 40): Tasks => ({
  training: drawPatients('training', { seed, count: 512 }),
  validation: drawPatients('evaluation', { seed: 1, count: held }),
});

export const mapTasks = ({ training, validation }: Tasks, change: (task: Task) => Task): Tasks => ({
  training: training.map(change),
  validation: validation.map(change),
});

/** Returns the answer in `metadata`, or '' if there is none. */
export const answerText = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';

/** Returns the agent's answer from the place where the workflows of the math agent put it. */
export const answerOf = ({ metadata }: WorkflowOutput): string => answerText(metadata?.['answer']);
