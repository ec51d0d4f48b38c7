import type { CommonConfig } from '@agentjet/core';
import type { TaskTable } from '@agentjet/rollout';
import type { JobListener, JobResult } from '@agentjet/records';
import type { JobInputs } from './inputs/job-inputs.js';
import { loadModelTokenizer, toEnginePolicy } from './policy/open-policy.js';
import { prepareModel } from './policy/prepare-model.js';
import { createRunEvaluations } from './rollout/run-evaluations.js';
import { withRollout } from './rollout/with-rollout.js';
import { runSession } from './run-session.js';
import { probeDifficulty } from './schedule/probe-difficulty.js';
import { readPlan } from './schedule/read-plan.js';
import { createScheduleSource } from './schedule/schedule-source.js';
import type { Selected } from './schedule/select-by-difficulty.js';
import { withRate } from './training/auto-rate.js';
import { checkKeepBest, checkStart } from './training/check-start.js';
import { findRun } from './training/resume-run.js';
import { withTrainingRun } from './training-run.js';

export type TrainJobOptions = {
  readonly inputs: JobInputs;
  readonly emit: JobListener;
  readonly resume: boolean | string;
  readonly from: string | undefined;
  readonly signal: AbortSignal | undefined;
};

/**
 * Trains on a schedule of the job's own tasks: evaluates, makes steps, and evaluates again. Everything is written into
 * a run folder.
 */
export async function trainJob(given: CommonConfig, options: TrainJobOptions): Promise<JobResult> {
  const startedAt = performance.now();
  const { inputs, signal } = options;
  for (const message of checkStart(given, inputs)) options.emit({ type: 'notice', message });
  const prepare = once(() => prepareModel(given, inputs.backbone, { ...options, trains: true }));
  const probe = async (table: TaskTable): Promise<Selected> =>
    probeDifficulty(given, table, { inputs, modelDir: (await prepare()).modelDir, emit: options.emit, signal });
  const isProbed = given.taskReader.difficulty.samples > 0;
  const { schedule, evaluationTasks, tasks } = await readPlan(
    given,
    inputs.reader,
    options.emit,
    isProbed ? probe : undefined,
  );
  checkKeepBest(given, evaluationTasks.length);
  const model = await prepare();
  const onNotice = (message: string): void => options.emit({ type: 'notice', message });
  const runDir = options.resume === false ? undefined : await findRun(given, options.resume);
  const config = withRate(given, { model, composition: inputs.composition, runDir, onNotice });
  const chatTokenizer = await loadModelTokenizer(model.modelDir, { ...inputs, onNotice }, config);
  const { totalSteps } = schedule;
  const opened = { ...options, model, chatTokenizer, startedAt, totalSteps, isRecorded: true };
  return withTrainingRun(config, opened, async (run) => {
    await run.folder.recordTasks(tasks);
    const policy = toEnginePolicy(config, { engine: run.watched.engine, chatTokenizer });
    const { emit, watched, recorded } = run;
    const parts = { inputs, policy, emit, checkEngine: watched.check, record: recorded?.places };
    return withRollout(config, parts, (context) =>
      runSession({
        run,
        source: createScheduleSource(context, schedule, { stop: signal, checkEngine: watched.check }),
        evaluations: createRunEvaluations({
          context,
          run: run.folder,
          tasks: evaluationTasks,
          signal,
          onRecorded: recorded?.noteEvaluation,
        }),
      }),
    );
  });
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
