import { RecoveryBudget, WorkflowError } from '@agentjet/core';
import { drawsOf } from '@agentjet/run-folder';
import { batchesAhead, train, type TrainObserver, type TrainOutcome } from '@agentjet/trainer';
import type { JobResult, RunPlan } from './events.js';
import type { GroupSource } from './group-source.js';
import { pullRecorded } from './recorded/pull-recorded.js';
import type { RecordedRun } from './recorded/recorded-run.js';
import { noEvaluations, type RunEvaluations } from './rollout/run-evaluations.js';
import type { TrainingRun } from './training-run.js';
import { createPace } from './schedule/work-ahead.js';
import { rateAt } from './training/rate-plan.js';
import { StepObserver } from './training/step-observer.js';
import { toTrainSettings } from './training/train-settings.js';

/**
 * The heart of a training run: evaluate, make steps on the groups that the source gives, evaluate again. It does not know
 * where the groups come from.
 */

export type SessionOptions = {
  readonly run: TrainingRun;
  readonly source: GroupSource;
  /** Default: nothing is evaluated. */
  readonly evaluations?: RunEvaluations;
};

/** Trains `run` to its last step, or until its signal aborts. Throws WorkflowError `nothing_completed` if every episode failed. */
export async function runSession({ run, source, evaluations = noEvaluations }: SessionOptions): Promise<JobResult> {
  const { config, folder, emit, tally } = run;
  const { modelSummary } = run;
  const about = { model: config.model.path, ...(modelSummary === undefined ? {} : { modelSummary }) };
  emit({ type: 'run_started', runDir: folder.dir, ...about, plan: toPlan(run, source) });
  const steps = new StepObserver(emit, {
    totalSteps: source.totalSteps,
    maxEmptySteps: config.trainerCommon.maxEmptySteps,
  });
  const successBefore = config.trainerCommon.valBeforeTrain ? await evaluations.successAt(0) : null;
  const outcome = await makeSteps({ run, source, evaluations }, steps);
  await run.recorded?.noteOutcome(outcome);
  if (outcome.status === 'failed') throw outcome.error;
  const isInterrupted = outcome.status === 'stopped';
  const successAfter = isInterrupted ? null : await evaluations.successAt(outcome.state.step);
  await folder.writeReport();
  if (tally.completed === 0 && tally.failed > 0 && !isInterrupted) throw nothingCompleted(run);
  const result: JobResult = {
    runDir: folder.dir,
    modelDir: (outcome.checkpoint ?? run.checkpoint)?.dir ?? null,
    successBefore,
    successAfter,
    seconds: (performance.now() - run.startedAt) / 1000,
    secondsSampling: steps.secondsSampling,
    secondsTraining: steps.secondsTraining,
    secondsEvaluating: evaluations.seconds(),
    policyVersion: outcome.state.policyVersion,
    isInterrupted,
  };
  await folder.log(isInterrupted ? 'stopped' : 'finished', {
    success_before: successBefore,
    success_after: successAfter,
  });
  emit({ type: 'run_finished', result });
  return result;
}

function makeSteps(
  { run, source, evaluations }: Required<SessionOptions>,
  { observer }: StepObserver,
): Promise<TrainOutcome> {
  const { config, folder, backbone, algorithm, checkpoint, signal, recorded, rates } = run;
  const state = checkpoint?.state;
  const left = new AbortController(); // the run wants no further groups
  const settings = toTrainSettings(config, algorithm);
  const { pace, done } = createPace(state?.step ?? 0, batchesAhead(settings));
  return train({
    ...settings,
    backbone,
    run: folder,
    source: pullRecorded(source, recorded, {
      step: state?.step ?? 0,
      drawn: state === undefined ? [] : drawsOf(state),
      signal: left.signal,
      ...(pace.batchesAhead > 0 && { pace }),
    }),
    onStepDone: done,
    onSourceLeft: () => left.abort(),
    groupsPerStep: source.groupsPerStep,
    maxSteps: source.totalSteps,
    learningRate: (at) => rateAt(rates, at),
    evaluate: async (step) => void (await evaluations.successAt(step)),
    observer: recorded === undefined ? observer : withCheckpoints(observer, recorded),
    ...(recorded !== undefined && {
      beforeStep: recorded.beforeStep,
      afterOptimizerStep: recorded.afterOptimizerStep,
      afterStep: recorded.afterStep,
      recoveryBudget: new RecoveryBudget(config.swarm.recoveryBudget),
    }),
    ...(state === undefined ? {} : { start: state }),
    ...(signal === undefined ? {} : { signal }),
  });
}

function withCheckpoints(observer: TrainObserver, { noteCheckpoint }: RecordedRun): TrainObserver {
  return {
    ...observer,
    onCheckpoint: (checkpoint) => {
      noteCheckpoint(checkpoint.state.step);
      observer.onCheckpoint?.(checkpoint);
    },
  };
}

function toPlan({ config, checkpoint }: TrainingRun, { totalSteps, groupsPerStep }: GroupSource): RunPlan {
  return {
    firstStep: (checkpoint?.state.step ?? 0) + 1,
    totalSteps,
    tasksPerStep: groupsPerStep,
    episodesPerTask: config.rollout.numRepeat,
  };
}

function nothingCompleted({ folder, tally }: TrainingRun): WorkflowError {
  return new WorkflowError(
    'nothing_completed',
    `Not one of ${tally.failed} episodes completed, so nothing was learned. Their errors stand in ${folder.dir}/episodes; \`--backbone=debug\` shows them one by one.`,
  );
}
