import { startEndpointServer } from '@agentjet/endpoint';
import { ConfigError, type CommonConfig } from '@agentjet/core';
import { isGroupJudge, type Policy, wrapWithCallLimit } from '@agentjet/rollout';
import type { JobInputs } from '@agentjet/inputs';
import type { EngineHealth } from '@agentjet/models';
import type { JobListener } from '@agentjet/records';
import { noticeRequests } from './notice-requests.js';
import { toEnvironmentHost } from '../processes/environment-host.js';
import type { PlaceRecord } from '../recorded/place-record.js';
import { WorkflowPool } from '../processes/workflow-pool.js';
import { createPlaceKeeper } from './place-keeper.js';
import type { RolloutContext } from './run-phase.js';
import { noticeStalls } from './notice-stalls.js';
import { startWatchdog } from './watchdog.js';
import { WorkerCount } from './worker-count.js';

/**
 * The number of stack frames that an error keeps. Node keeps ten, but frameworks put more frames between the user's
 * line and the failure.
 */
const deepestFrames = 40;

type RolloutParts = {
  readonly inputs: JobInputs;
  readonly policy: Policy;
  readonly emit: JobListener;
  /** Undefined if the engine may come back. */
  readonly health?: EngineHealth | undefined;
  /** The record of groups and episodes. Default: in memory. */
  readonly record?: PlaceRecord | undefined;
  /** Whether the backbone may sample faster with more calls at the same time. Default: false. */
  readonly samplesWide?: boolean | undefined;
};

/**
 * Starts the HTTP endpoint for agents in other processes and puts the configured limits around the models. The endpoint
 * and the models end when `use` ends.
 */
export async function withRollout<T>(
  config: CommonConfig,
  { inputs, policy, emit: tell, health, record, samplesWide = false }: RolloutParts,
  use: (context: RolloutContext) => Promise<T>,
): Promise<T> {
  checkJudge(inputs);
  const emit = noticeRequests(tell, config.rollout.specialTokensInText);
  const endpointHost = await startEndpointServer();
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = Math.max(stackTraceLimit, deepestFrames);
  // The timer of the watchdog also keeps Node alive if no episode has pending I/O.
  const watchdog = startWatchdog({ limitMs: 1000 * config.rollout.episodeTimeout + 5000 });
  const workers = new WorkerCount({ ...config.rollout, samplesWide });
  const stopStalls = noticeStalls({
    onNotice: (message) => emit({ type: 'notice', message }),
    numWorkers: () => workers.now,
  });
  const pool = openPool(config, inputs);
  try {
    const wrapModel = wrapWithCallLimit(config);
    const { workflow, judge } = inputs;
    const keeper = createPlaceKeeper(config, {
      onNotice: (message) => emit({ type: 'notice', message }),
      ...(health === undefined ? {} : { checkEngine: health.check }),
      record,
    });
    keeper.onHeld((isHeld) => emit({ type: 'pause', isHeld }));
    const environment = toEnvironmentHost(config, inputs.environment);
    const runEpisode = pool?.runEpisode;
    return await use({
      config,
      workflow,
      judge,
      policy,
      wrapModel,
      endpointHost,
      environment,
      keeper,
      emit,
      workers,
      runEpisode,
      gone: health?.gone,
    });
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    watchdog.stop();
    stopStalls();
    await pool?.close();
    await endpointHost.close();
    await inputs.environment?.close?.();
  }
}

/**
 * Opens the processes for workflows. When episodes are debugged, there are none, because breakpoints work only in this
 * process.
 */
function openPool(config: CommonConfig, { processes }: JobInputs): WorkflowPool | undefined {
  if (processes === undefined || config.backbone === 'debug') return undefined;
  return new WorkflowPool({ ...processes, config, size: config.rollout.workflowProcesses });
}

/**
 * Throws if a judge of whole groups is used with several processes, because each process would see only a part of a
 * group.
 */
function checkJudge({ processes, judge }: JobInputs): void {
  if (processes === undefined || judge === undefined || !isGroupJudge(judge)) return;
  throw new ConfigError(
    'bad_judge',
    'The judge scores whole groups, whose episodes run in several processes. Set rollout.workflow_processes to 0, or choose a judge of single episodes.',
  );
}
