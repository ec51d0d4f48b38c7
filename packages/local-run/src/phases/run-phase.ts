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
import type { JobInputs } from '@agentjet/inputs';
import type { JobListener, Phase } from '@agentjet/records';
import type { PlaceKeeper } from './place-keeper.js';
import type { WorkerCount } from './worker-count.js';

/** The parts that all phases of a run share. */
export type RolloutContext = {
  readonly config: CommonConfig;
  readonly workflow: WorkflowSource;
  readonly judge: JobInputs['judge'];
  readonly policy: Policy;
  /** Wraps every tuned model in the configured limits. */
  readonly wrapModel: WrapModel | undefined;
  readonly endpointHost: EndpointHost;
  readonly environment?: EnvironmentHost | undefined;
  /** Keeps track of all attempts of the run. */
  readonly keeper: PlaceKeeper;
  /** Runs episodes in other processes. Default: episodes run in this one. */
  readonly runEpisode?: GroupsOptions['runEpisode'];
  readonly emit: JobListener;
  readonly workers: WorkerCount;
  /** Ends all phases if it aborts: they throw its reason. */
  readonly gone?: AbortSignal | undefined;
};

export type PhaseOptions = {
  readonly phase: Exclude<Phase, 'train'>;
  /** The step that the phase belongs to, from 1. For an evaluation, it is the number of steps before it. */
  readonly step: number;
  readonly tasks: readonly Task[];
  readonly numRepeat: number;
  readonly maxParallel: number;
  readonly sampling: SamplingDefaults;
  readonly samplingOf?: GroupsOptions['samplingOf'];
  /** Default: `honour`. */
  readonly requestSampling?: RequestSampling;
  readonly timeoutMs: number;
  /** The slots that phases running at the same time share. */
  readonly workers?: Semaphore;
  readonly stragglerPatienceMs?: number | null;
  /** The maximum number of groups that are started and not yet yielded. */
  readonly maxOpenGroups?: number;
  readonly seed: number;
  /** A prefix of episode ids, so that ids of different phases differ. */
  readonly idPrefix: string;
  readonly signal?: AbortSignal | undefined;
};

export type PhaseOutcome = {
  /** The groups in the order of the tasks. If the signal aborted, there are fewer groups than tasks. */
  readonly groups: readonly TaskGroup[];
  readonly seconds: number;
};

/** Runs all episodes of a phase and calls the listener with each. Throws at once if the engine's process has ended. */
export async function runPhase(context: RolloutContext, options: PhaseOptions): Promise<PhaseOutcome> {
  const { config, workflow, judge, policy, wrapModel, endpointHost, environment, keeper, emit, gone } = context;
  const { phase, step, signal, ...rest } = options;
  const startedAt = performance.now();
  emit({ type: 'phase_started', phase, step, episodes: options.tasks.length * options.numRepeat });
  const groups: TaskGroup[] = [];
  const signals = [signal, gone].filter((each) => each !== undefined);
  const running = runGroups({
    ...rest,
    ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
    workflow,
    judge,
    policy,
    wrapModel,
    endpointHost,
    environment,
    // In a debug phase a failed episode is not repeated, so the user sees the failure at once.
    ...(phase !== 'debug' && {
      runEpisode: context.runEpisode,
      keeper: keeper.during({ purpose: phase === 'evaluate' ? 'evaluation' : 'train', step }),
    }),
    trainableTargets: config.trainableTargets,
    onEpisode: (episode) => emit({ type: 'episode_finished', phase, step, episode }),
  });
  try {
    for await (const group of running) groups.push(group);
  } catch (error) {
    gone?.throwIfAborted(); // its reason says more than the error of an episode
    throw error;
  }
  gone?.throwIfAborted();
  if (phase !== 'debug') noticeFailures(groups, emit); // a debug phase shows each episode
  const seconds = (performance.now() - startedAt) / 1000;
  emit({ type: 'phase_finished', phase, step, seconds });
  return { groups, seconds };
}

/** Reports failed episodes to the user, because they do not stop the run. */
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
