import path from 'node:path';
import { BackboneError, deriveSeed, firstWorkers, type CommonConfig, type Task } from '@agentjet/core';
import { isAgentsFailure, type Environment, type TaskTable, samplingDefaults } from '@agentjet/rollout';
import { sumModel } from '@agentjet/run-folder';
import type { JobListener } from '@agentjet/records';
import { type JobInputs, hashCode } from '@agentjet/inputs';
import { openUntrainedPolicy } from '@agentjet/models';
import { runPhase, type RolloutContext } from '../phases/run-phase.js';
import { withRollout } from '../phases/with-rollout.js';
import { selectByDifficulty, type ProbeOutcome, type Selected } from './select-by-difficulty.js';

type ProbeParts = {
  readonly inputs: JobInputs;
  readonly modelDir: string;
  readonly emit: JobListener;
  readonly signal: AbortSignal | undefined;
};

/**
 * Lets the initial model run episodes of each training task, and leaves out tasks that the model always or never
 * solves.
 */
export async function probeDifficulty(config: CommonConfig, table: TaskTable, parts: ProbeParts): Promise<Selected> {
  const { difficulty } = config.taskReader;
  const opened = openWhenNeeded(config, parts);
  const notice = (message: string): void => parts.emit({ type: 'notice', message });
  try {
    const selected = await selectByDifficulty(table, {
      ...difficulty,
      cacheFile: path.join(config.experimentDir, config.experimentName, 'task-probe.jsonl'),
      shapedBy: await describeShape(config, parts),
      probe: async (tasks) => opened.run(tasks),
      chunk:
        4 *
        Math.max(
          1,
          Math.ceil(firstWorkers(config.rollout, parts.inputs.backbone.capabilities ?? {}) / difficulty.samples),
        ),
      onProgress: (done, total) =>
        notice(`probing tasks, ${difficulty.samples} episodes each: ${done} of ${total} tasks are done`),
    });
    const numDropped = selected.dropped.reduce((sum, { count }) => sum + count, 0);
    notice(`difficulty: ${numDropped} of ${table.size} training tasks are left out; tasks.json says which`);
    return selected;
  } finally {
    await opened.close();
  }
}

/**
 * Describes everything, apart from the task itself, that affects how often a task is solved. Parts that were passed in
 * code have no hash, so their edits are not noticed.
 */
async function describeShape(config: CommonConfig, { inputs, modelDir }: ProbeParts): Promise<unknown> {
  const { rollout, taskJudge, trainerCommon, backbone } = config;
  const { userWorkflow, maxModelLen, maxResponseLengthInOneTurn, multiTurn } = rollout;
  const { requestSampling, specialTokensInText, episodeTimeout } = rollout;
  return {
    model: await sumModel(modelDir),
    code: hashCode(config),
    agent: { userWorkflow, maxModelLen, maxResponseLengthInOneTurn, multiTurn, episodeTimeout },
    requests: { requestSampling, specialTokensInText },
    sampling: samplingDefaults(config),
    taskJudge,
    world: describeWorld(config, inputs),
    backbone,
    seed: trainerCommon.seed,
  };
}

/** Describes the environment that the episodes act in. Some readers open it themselves, with their own settings. */
function describeWorld({ environment, taskReader }: CommonConfig, { reader }: JobInputs): unknown {
  const { maxSessions: _sessions, openTimeout: _open, callTimeout: _call, ...world } = environment;
  const { difficulty: _limits, ...ofReader } = taskReader;
  return [world, reader.environment === undefined ? null : ofReader];
}

/** Opens the engine for the first task without a known result, and keeps it open until the end. */
function openWhenNeeded(config: CommonConfig, parts: ProbeParts) {
  const { inputs, emit, signal } = parts;
  const quiet: JobListener = (event) => {
    if (event.type === 'notice') emit(event);
  };
  let opening: ReturnType<typeof openUntrainedPolicy> | undefined;
  return {
    async run(tasks: readonly Task[]): Promise<readonly ProbeOutcome[]> {
      opening ??= openUntrainedPolicy(config, inputs, { emit, signal });
      const kept = { ...inputs, environment: keptOpen(inputs.environment) };
      const { policy, health, samplesWide } = await opening;
      const opened = { inputs: kept, policy, health, samplesWide, emit: quiet };
      return withRollout(config, opened, (context) => runProbe(context, tasks, signal));
    },
    async close(): Promise<void> {
      await (await opening)?.close();
    },
  };
}

/** Returns the environment without its `close`, because the run that follows uses the same environment. */
function keptOpen(environment: Environment | undefined): Environment | undefined {
  if (environment === undefined) return undefined;
  const { name } = environment;
  return { ...(name !== undefined && { name }), open: (task, options) => environment.open(task, options) };
}

async function runProbe(
  context: RolloutContext,
  tasks: readonly Task[],
  signal: AbortSignal | undefined,
): Promise<readonly ProbeOutcome[]> {
  const { rollout, trainerCommon, taskReader } = context.config;
  const { groups } = await runPhase(context, {
    phase: 'evaluate',
    step: 0,
    tasks,
    numRepeat: taskReader.difficulty.samples,
    maxParallel: context.workers.now,
    sampling: samplingDefaults(context.config),
    requestSampling: rollout.requestSampling,
    timeoutMs: rollout.episodeTimeout * 1000,
    seed: deriveSeed(trainerCommon.seed, 'probe'),
    idPrefix: 'probe-',
    signal,
  });
  context.keeper.release(groups);
  if (signal?.aborted === true)
    throw new BackboneError(
      'interrupted',
      'Stopped while the difficulty of the tasks was probed. The results so far are kept: the same command resumes from them.',
    );
  return groups.map(({ episodes }) => ({
    episodes: episodes.filter((each) => each.status === 'completed' || isAgentsFailure(each.error)).length,
    solved: episodes.filter((each) => each.status === 'completed' && each.isSuccess).length,
  }));
}
