import { toErrorMessage, WorkflowError, type AgentJetConfig } from '@agentjet/core';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import type { MetricsRecord } from '@agentjet/run-folder';
import { train, type TrainObserver } from '@agentjet/trainer';
import type { JobListener, JobResult, RunPlan } from '../events.js';
import type { JobInputs } from '../inputs/job-inputs.js';
import { loadModelTokenizer, toEnginePolicy } from '../policy/open-policy.js';
import type { RolloutContext } from '../rollout/run-phase.js';
import { withSession } from '../rollout/with-session.js';
import { watchEngine } from '../policy/engine-health.js';
import { noticeStall } from './notice-stall.js';
import { openRun, readPlan, type OpenRun, type Plan } from './open-run.js';
import { createRunEvaluations, type RunEvaluations } from '../rollout/run-evaluations.js';
import { toTrainSettings } from './train-settings.js';
import { createTrainingGroups } from '../schedule/training-groups.js';

export type TrainJobOptions = {
  readonly inputs: JobInputs;
  readonly emit: JobListener;
  readonly resume: boolean | string;
  readonly signal: AbortSignal | undefined;
};

/** What the listener is told of the loop, and what the result adds up. */
class Progress {
  secondsSampling = 0;
  secondsTraining = 0;
  readonly #emit: JobListener;
  readonly #totalSteps: number;

  constructor(emit: JobListener, totalSteps: number) {
    this.#emit = emit;
    this.#totalSteps = totalSteps;
  }

  readonly observer: TrainObserver = {
    onUpdate: (step) => this.#emit({ type: 'phase_started', phase: 'train', step, episodes: 0 }),
    onStep: (metrics) => this.#finishStep(metrics),
    onCheckpoint: ({ dir, state }) => this.#emit({ type: 'checkpoint_saved', step: state.step, dir }),
  };

  #finishStep(metrics: MetricsRecord): void {
    const { step, seconds_sampling: sampling = 0, seconds_training: training = 0 } = metrics;
    this.secondsSampling += sampling;
    this.secondsTraining += training;
    this.#emit({ type: 'phase_finished', phase: 'train', step, seconds: training });
    this.#emit({ type: 'step_finished', step, totalSteps: this.#totalSteps, metrics });
  }
}

/** Counts, so that a run in which nothing ever worked does not end as if it had. */
function countCompleted(emit: JobListener): {
  readonly emit: JobListener;
  readonly counts: { completed: number; failed: number };
} {
  const counts = { completed: 0, failed: 0 };
  return {
    counts,
    emit: (event) => {
      if (event.type === 'episode_finished') counts[event.episode.status]++;
      emit(event);
    },
  };
}

async function runSteps(
  config: AgentJetConfig,
  parts: {
    readonly open: OpenRun;
    readonly plan: Plan;
    readonly context: RolloutContext;
    readonly evaluations: RunEvaluations;
    readonly progress: Progress;
    readonly checkEngine: () => void;
    readonly signal: AbortSignal | undefined;
  },
) {
  const { open, plan, context, evaluations, progress, checkEngine, signal } = parts;
  const { schedule } = plan;
  const state = open.checkpoint?.state;
  const ahead = new AbortController(); // ends the sampling of batches that the run will not train
  return train({
    ...toTrainSettings(config),
    backbone: open.backbone,
    run: open.run,
    source: createTrainingGroups(context, schedule, {
      step: state?.step ?? 0,
      groupsDrawn: state?.groupsDrawn ?? 0,
      signal: ahead.signal,
      checkEngine,
    }),
    onSourceLeft: () => ahead.abort(),
    groupsPerStep: schedule.batchSize,
    maxSteps: schedule.totalSteps,
    evaluate: async (step) => void (await evaluations.successAt(step)),
    observer: progress.observer,
    ...(state === undefined ? {} : { start: state }),
    ...(signal === undefined ? {} : { signal }),
  });
}

async function runOpened(
  config: AgentJetConfig,
  options: TrainJobOptions & {
    readonly open: OpenRun;
    readonly plan: Plan;
    readonly chatTokenizer: ChatTokenizer;
    readonly startedAt: number;
  },
): Promise<JobResult> {
  const { open, plan, chatTokenizer, inputs, signal, startedAt } = options;
  const { run, backbone } = open;
  const { emit, counts } = countCompleted(noticeStall(options.emit, config.trainableTargets));
  const { engine, check: checkEngine } = watchEngine(backbone.engine);
  return withSession(
    config,
    { inputs, policy: toEnginePolicy(config, { engine, chatTokenizer }), emit },
    async (context) => {
      const evaluations = createRunEvaluations({ context, run, tasks: plan.evaluationTasks, signal });
      const progress = new Progress(emit, plan.schedule.totalSteps);
      emit({ type: 'run_started', runDir: run.dir, model: config.model.path, plan: toRunPlan(config, plan, open) });
      const successBefore = config.trainerCommon.valBeforeTrain ? await evaluations.successAt(0) : null;
      const outcome = await runSteps(config, { open, plan, context, evaluations, progress, checkEngine, signal });
      const isInterrupted = outcome.status === 'stopped';
      const successAfter = isInterrupted ? null : await evaluations.successAt(outcome.state.step);
      await run.writeReport();
      if (counts.completed === 0 && counts.failed > 0 && !isInterrupted) throw nothingCompleted(counts.failed, run.dir);
      return {
        runDir: run.dir,
        modelDir: (outcome.checkpoint ?? open.checkpoint)?.dir ?? null,
        successBefore,
        successAfter,
        seconds: (performance.now() - startedAt) / 1000,
        secondsSampling: progress.secondsSampling,
        secondsTraining: progress.secondsTraining,
        secondsEvaluating: evaluations.seconds(),
        policyVersion: outcome.state.policyVersion,
        isInterrupted,
      };
    },
  );
}

function toRunPlan(config: AgentJetConfig, { schedule }: Plan, { checkpoint }: OpenRun): RunPlan {
  return {
    firstStep: (checkpoint?.state.step ?? 0) + 1,
    totalSteps: schedule.totalSteps,
    tasksPerStep: schedule.batchSize,
    episodesPerTask: config.rollout.numRepeat,
  };
}

function nothingCompleted(failed: number, runDir: string): WorkflowError {
  return new WorkflowError(
    'nothing_completed',
    `Not one of ${failed} episodes completed, so nothing was learned. Their errors stand in ${runDir}/episodes; \`--backbone=debug\` shows them one by one.`,
  );
}

/** Trains, as the configuration says: evaluation, steps, evaluation; everything goes into a run folder. */
export async function trainJob(config: AgentJetConfig, options: TrainJobOptions): Promise<JobResult> {
  const startedAt = performance.now();
  const plan = await readPlan(config, options.inputs.reader, options.emit);
  const chatTokenizer = await loadModelTokenizer(config);
  const open = await openRun(config, plan.schedule.totalSteps, options);
  const { run, backbone } = open;
  try {
    await run.log('started', {
      model: config.model.path,
      backbone: config.backbone,
      total_steps: plan.schedule.totalSteps,
    });
    const result = await runOpened(config, { ...options, open, plan, chatTokenizer, startedAt });
    await run.log(result.isInterrupted ? 'stopped' : 'finished', {
      success_before: result.successBefore,
      success_after: result.successAfter,
    });
    options.emit({ type: 'run_finished', result });
    return result;
  } catch (error) {
    await run.log('failed', { error: toErrorMessage(error) }).catch(() => undefined); // the disk may be what failed
    throw error;
  } finally {
    await backbone.close();
  }
}
