import type { CommonConfig } from '@agentjet/core';
import type { TaskTable } from '@agentjet/rollout';
import type { JobListener, JobResult } from '@agentjet/records';
import type { JobInputs } from '@agentjet/inputs';
import {
  createRunEvaluations,
  withRollout,
  runSession,
  probeDifficulty,
  readPlan,
  createScheduleSource,
  type Selected,
  withAutoSettings,
  checkKeepBest,
  checkStopOnCollapse,
  checkStart,
  findRun,
  withTrainingRun,
} from '@agentjet/local-run';
import { loadModelTokenizer, toEnginePolicy, prepareModel, withPacks } from '@agentjet/models';
import { forecastFromLengths } from './forecast-from-lengths.js';

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
  let prepared: ReturnType<typeof prepareModel> | undefined;
  const prepare = () => (prepared ??= prepareModel(given, inputs.backbone, { ...options, trains: true }));
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
  checkStopOnCollapse(given, evaluationTasks.length);
  const model = await prepare();
  const onNotice = (message: string): void => options.emit({ type: 'notice', message });
  const runDir = options.resume === false ? undefined : await findRun(given, options.resume);
  const config = withAutoSettings(withPacks(given, model), {
    model,
    composition: inputs.composition,
    runDir,
    onNotice,
  });
  const chatTokenizer = await loadModelTokenizer(model.modelDir, { ...inputs, onNotice }, config);
  const { totalSteps } = schedule;
  const emit = forecastFromLengths(options.emit, model.forecast);
  const opened = { ...options, emit, model, chatTokenizer, startedAt, totalSteps, isRecorded: true };
  return withTrainingRun(config, opened, async (run) => {
    await run.folder.recordTasks(tasks);
    const policy = toEnginePolicy(config, { engine: run.watched.engine, chatTokenizer });
    const { watched, recorded, backbone } = run;
    const { samplesWide } = backbone.capabilities;
    const parts = { inputs, policy, emit: run.emit, health: watched, record: recorded?.places, samplesWide };
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
