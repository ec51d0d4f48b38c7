import type { CommonConfig, Task } from '@agentjet/core';
import {
  failurePlace,
  runGroups,
  type EndpointHost,
  type GroupsOptions,
  type EnvironmentHost,
  type Policy,
  type RequestSampling,
  type SamplingDefaults,
  type Semaphore,
  type TaskGroup,
  type WorkflowSource,
  type WrapModel,
} from '@agentjet/rollout';
import type { JobInputs } from '../inputs/job-inputs.js';
import type { JobListener, Phase } from '@agentjet/records';
import type { PlaceKeeper } from './place-keeper.js';

/** What every phase of a run shares. */
export type RolloutContext = {
  readonly config: CommonConfig;
  readonly workflow: WorkflowSource;
  readonly judge: JobInputs['judge'];
  readonly policy: Policy;
  /** The limits of the configuration, around every tuned model. */
  readonly wrapModel: WrapModel | undefined;
  readonly endpointHost: EndpointHost;
  readonly environment?: EnvironmentHost | undefined;
  /** Keeps the places of all groups of the run. */
  readonly keeper: PlaceKeeper;
  /** Runs episodes in other processes. Default: in this one. */
  readonly runEpisode?: GroupsOptions['runEpisode'];
  readonly emit: JobListener;
};

export type PhaseOptions = {
  readonly phase: Exclude<Phase, 'train'>;
  /** The optimizer step it belongs to, from 1; for an evaluation the steps made before it. */
  readonly step: number;
  readonly tasks: readonly Task[];
  readonly numRepeat: number;
  readonly maxParallel: number;
  readonly sampling: SamplingDefaults;
  /** Default: `honour`. */
  readonly requestSampling?: RequestSampling;
  readonly timeoutMs: number;
  /** Shared with phases that run at the same time. */
  readonly workers?: Semaphore;
  readonly stragglerPatienceMs?: number | null;
  /** Groups that may be started and not yet handed over. */
  readonly maxOpenGroups?: number;
  readonly seed: number;
  /** Keeps episode ids of different phases apart. */
  readonly idPrefix: string;
  readonly signal?: AbortSignal | undefined;
};

export type PhaseOutcome = {
  /** In the order of the tasks; fewer than those if the signal aborted. */
  readonly groups: readonly TaskGroup[];
  readonly seconds: number;
};

/** Runs all episodes of a phase and calls the listener with each. */
export async function runPhase(context: RolloutContext, options: PhaseOptions): Promise<PhaseOutcome> {
  const { config, workflow, judge, policy, wrapModel, endpointHost, environment, keeper, emit } = context;
  const { phase, step, signal, ...rest } = options;
  const startedAt = performance.now();
  emit({ type: 'phase_started', phase, step, episodes: options.tasks.length * options.numRepeat });
  const groups: TaskGroup[] = [];
  const running = runGroups({
    ...rest,
    ...(signal === undefined ? {} : { signal }),
    workflow,
    judge,
    policy,
    wrapModel,
    endpointHost,
    environment,
    // A debugged failure is shown at once.
    ...(phase !== 'debug' && {
      runEpisode: context.runEpisode,
      keeper: keeper.during({ purpose: phase === 'evaluate' ? 'evaluation' : 'train', step }),
    }),
    trainableTargets: config.trainableTargets,
    onEpisode: (episode) => emit({ type: 'episode_finished', phase, step, episode }),
  });
  for await (const group of running) groups.push(group);
  if (phase !== 'debug') noticeFailures(groups, emit); // there, each episode is shown
  const seconds = (performance.now() - startedAt) / 1000;
  emit({ type: 'phase_finished', phase, step, seconds });
  return { groups, seconds };
}

/** A failed episode stops nothing, but nobody should have to look for it. */
function noticeFailures(groups: readonly TaskGroup[], emit: JobListener): void {
  const episodes = groups.flatMap((group) => group.episodes);
  const failed = episodes.flatMap((episode) => (episode.status === 'failed' ? [episode] : []));
  const [first] = failed;
  if (first === undefined) return;
  const { code, message, agent } = first.error;
  const place = failurePlace(first.error);
  const where = agent === undefined ? '' : `, agent "${agent}"`;
  emit({
    type: 'notice',
    message: `${failed.length} of ${episodes.length} episodes failed; the first, ${first.episodeId}${where} (${code}): ${message}${place === undefined ? '' : `\n${place}`}`,
  });
}
