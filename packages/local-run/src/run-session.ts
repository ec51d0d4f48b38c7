import { WorkflowError } from '@agentjet/core';
import { RecoveryBudget, train, type TrainOutcome } from '@agentjet/run';
import type { JobResult, RunPlan } from '@agentjet/records';
import { noEvaluations, type RunEvaluations } from './phases/run-evaluations.js';
import type { TrainingRun } from './training-run.js';
import { createTokenRecording } from '@agentjet/trainer';
import { StepObserver } from './training/step-observer.js';
import { toTrainSettings } from './training/train-settings.js';
import type { GroupSource } from './schedule/schedule-source.js';

/**
 * A training run: evaluates, makes steps on the groups that the source gives, and evaluates again. It does not depend
 * on the origin of the groups.
 */

export type SessionOptions = {
  readonly run: TrainingRun;
  readonly source: GroupSource;
  /** Default: no evaluations. */
  readonly evaluations?: RunEvaluations;
};

/** Trains `run` to its last step, or until its signal aborts. Throws WorkflowError `nothing_completed` if every episode failed. */
export async function runSession({ run, source, evaluations = noEvaluations }: SessionOptions): Promise<JobResult> {
  const { config, folder, emit, tally } = run;
  const { modelSummary } = run;
  const about = { model: config.model.path, ...(modelSummary === undefined ? {} : { modelSummary }) };
  emit({ type: 'run_started', runDir: folder.dir, ...about, plan: toPlan(run, source) });
  const { totalSteps } = source;
  const steps = new StepObserver(emit, { totalSteps, trainerCommon: config.trainerCommon });
  const successBefore = config.trainerCommon.valBeforeTrain ? await evaluations.successAt(0) : null;
  const outcome = await makeSteps({ run, source, evaluations }, steps);
  await run.recorded?.noteOutcome(outcome);
  if (outcome.status === 'failed') throw outcome.error;
  const isInterrupted = outcome.status === 'stopped';
  const successAfter = isInterrupted ? null : await evaluations.successAt(outcome.state.step);
  const successChange = successAfter === null ? undefined : evaluations.change();
  if (tally.completed === 0 && tally.failed > 0 && !isInterrupted)
    throw nothingCompleted(tally.failed, `${folder.dir}/episodes`);
  const result: JobResult = {
    runDir: folder.dir,
    modelDir: (outcome.checkpoint ?? run.checkpoint)?.dir ?? null,
    successBefore,
    successAfter,
    ...(successChange !== undefined && { successChange }),
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
  const { config, folder, backbone, algorithm, teacher, checkpoint, signal, recorded, optimizer } = run;
  return train({
    ...toTrainSettings(config, algorithm),
    recordTokens: createTokenRecording(config.trainerCommon.recordTokens, config.backbone, (message) =>
      run.emit({ type: 'notice', message }),
    ),
    optimizer,
    backbone,
    teacher,
    run: folder,
    source: source.pull,
    groupsPerStep: source.groupsPerStep,
    maxSteps: source.totalSteps,
    evaluate: async (step) => {
      await evaluations.successAt(step);
      run.checkCollapse();
    },
    observer,
    ...(recorded !== undefined && {
      recorder: recorded,
      recoveryBudget: new RecoveryBudget(config.swarm.recoveryBudget),
    }),
    ...(checkpoint !== undefined && { start: checkpoint.state }),
    ...(signal !== undefined && { signal }),
  });
}

function toPlan({ config, checkpoint }: TrainingRun, { totalSteps, groupsPerStep }: GroupSource): RunPlan {
  return {
    firstStep: (checkpoint?.state.step ?? 0) + 1,
    totalSteps,
    tasksPerStep: groupsPerStep,
    episodesPerTask: config.rollout.numRepeat,
    temperature: config.rollout.temperature,
  };
}

/** The error of a run in which `failed` episodes failed and no other episode completed. `place` has their errors. */
export function nothingCompleted(failed: number, place: string): WorkflowError {
  return new WorkflowError(
    'nothing_completed',
    `None of the ${failed} episodes completed, so nothing was learned. Their errors are in ${place}; \`--backbone=debug\` shows them one by one.`,
  );
}
