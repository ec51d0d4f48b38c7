import type { CommonConfig, Task } from '@agentjet/core';
import {
  openEpisode,
  runEpisode,
  Semaphore,
  toTurnRewards,
  type Episode,
  type EpisodeIdentity,
  type EpisodeOptions,
} from '@agentjet/rollout';
import type { EpisodeOrder, ProcessOptions } from './functions.js';
import { failEpisode, type RemoteEpisode } from './remote-episode.js';
import { ProcessLost, WorkflowProcess, type RemoteRun } from './workflow-process.js';

/**
 * The processes of `rollout.workflow_processes`. The run opens each episode, samples and records, and a process runs
 * its workflow and judge. If a process ends unexpectedly, each of its episodes is repeated alone in a new process. An
 * episode whose process ends again has failed.
 */
export class WorkflowPool {
  readonly #options: WorkflowPoolOptions;
  readonly #processes: WorkflowProcess[] = [];
  /** The processes for episodes that are repeated. */
  readonly #alone = new Set<WorkflowProcess>();
  readonly #idle: WorkflowProcess[] = [];
  readonly #seats: Semaphore;
  #numStarted = 0;

  constructor(options: WorkflowPoolOptions) {
    this.#options = options;
    this.#seats = new Semaphore(options.size);
  }

  /** Runs a workflow as `runEpisode` does. */
  runEpisode = async (task: Task, options: EpisodeOptions, identity: EpisodeIdentity): Promise<Episode> => {
    const startedAt = performance.now();
    const isStopped = (): boolean => identity.signal?.aborted === true;
    if (isStopped()) return runEpisode(task, options, identity); // after a stop, it runs no workflow
    for (let isAlone = false; ; isAlone = true) {
      const attempt = (identity.attempt ?? 1) + (isAlone ? 1 : 0);
      const { timeoutMs, endpointHost: _host, environment: _environment, ...recording } = options;
      const open = openEpisode(recording, { ...identity, attempt });
      const settled = await this.#execute(isAlone, {
        task,
        order: toOrder({ ...identity, attempt }, timeoutMs, options),
        signal: identity.signal,
        createModel: open.createModel,
        keeper: options.keeper,
      })
        .catch((error: unknown) => {
          if (error instanceof ProcessLost) return error;
          throw error;
        })
        .finally(open.finish);
      const isRepeated = settled instanceof ProcessLost && settled.numEpisodes > 1 && !isStopped();
      if (isRepeated) continue;
      const { paidTurns: _none, ...recorded } = open.finish();
      const seconds = (performance.now() - startedAt) / 1000;
      const outcome = settled instanceof ProcessLost ? failEpisode(identity, toError(settled, timeoutMs)) : settled;
      const turnRewards = outcome.paidTurns && toTurnRewards(outcome.paidTurns, recorded.turns);
      return { ...recorded, ...outcome, ...(turnRewards && { turnRewards }), task, seconds };
    }
  };

  async close(): Promise<void> {
    await Promise.all([...this.#processes, ...this.#alone].map((each) => each.close()));
  }

  async #execute(isAlone: boolean, run: RemoteRun): Promise<RemoteEpisode> {
    return isAlone ? this.#seats.run(() => this.#executeAlone(run)) : this.#choose().run(run);
  }

  /** Runs an episode alone in a process. If the process survives the episode, it is used for the next such episode. */
  async #executeAlone(run: RemoteRun): Promise<RemoteEpisode> {
    const alone = this.#idle.pop() ?? this.#start();
    this.#alone.add(alone);
    try {
      return await alone.run(run);
    } finally {
      if (alone.isGone) this.#alone.delete(alone);
      else this.#idle.push(alone);
    }
  }

  /** Chooses the process with the fewest episodes. A process that has ended is replaced first. */
  #choose(): WorkflowProcess {
    const { size } = this.#options;
    for (let at = 0; at < size; at++) if (this.#processes[at]?.isGone !== false) this.#processes[at] = this.#start();
    return this.#processes.reduce((best, each) => (each.numEpisodes < best.numEpisodes ? each : best));
  }

  #start(): WorkflowProcess {
    const { entry, config, size, hasReadersEnvironment } = this.#options;
    const options: ProcessOptions = { hasReadersEnvironment, numProcesses: size };
    return new WorkflowProcess(entry, { config, options, name: `workflow ${++this.#numStarted}` });
  }
}

export type WorkflowPoolOptions = {
  /** The module that calls `serveWorkflows`. */
  readonly entry: URL;
  readonly size: number;
  readonly config: CommonConfig;
  /** Whether the environment comes with the task reader. */
  readonly hasReadersEnvironment: boolean;
};

function toOrder(
  { episodeId, repeatIndex, seed, attempt = 1 }: EpisodeIdentity,
  timeoutMs: number,
  { keeper }: EpisodeOptions,
): EpisodeOrder {
  const patience = keeper === undefined ? {} : { scorePatienceMs: keeper.scorePatienceMs };
  return { episodeId, repeatIndex, seed, attempt, timeoutMs, ...patience };
}

function toError({ isBlocked, message }: ProcessLost, timeoutMs: number) {
  if (!isBlocked) return { code: 'process_died', message };
  return {
    code: 'timeout',
    message: `The workflow blocked its process for longer than ${timeoutMs / 1000} s, and the process was killed. It loops, or computes without ever awaiting. Make it faster, or raise rollout.episode_timeout.`,
  };
}
