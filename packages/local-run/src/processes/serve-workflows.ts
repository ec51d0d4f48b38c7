import { Worker } from 'node:worker_threads';
import { startEndpointServer } from '@agentjet/endpoint';
import type { CommonConfig, ConfigComposition, Task } from '@agentjet/core';
import { runEpisode, sampledElsewhere, type EndpointHost, type Episode } from '@agentjet/rollout';
import { failEpisodesThatExit } from '@agentjet/rollout/loading';
import { loadWorkflowInputs, type WorkflowInputs } from '@agentjet/inputs';
import { toEnvironmentHost } from './environment-host.js';
import { openChannel } from './channel.js';
import type { EpisodeOrder, Piece, ProcessFunctions, ProcessOptions, RunFunctions } from './functions.js';
import { toRemoteEpisode, type RemoteEpisode } from './remote-episode.js';
import { fromSentError, type SentError } from './sent-error.js';
import { SentJudge } from './sent-judge.js';
import { SentCalls } from './sent-model.js';

/** The same path works from sources and from builds. */
const leave = new URL('../../threads/leave-with-parent.mjs', import.meta.url);

/**
 * The process side of `rollout.workflow_processes`: it runs workflows for the run that started it. The process ends
 * when the run ends, even if the run was killed while a workflow blocks the main thread of this process.
 */
export function serveWorkflows(composition: ConfigComposition): void {
  leaveWithParent();
  failEpisodesThatExit();
  new WorkflowServer(composition);
}

/**
 * Ends this process when the run ends. A terminal sends Ctrl-C to all processes, but only the run handles it, so this
 * process ignores it.
 */
function leaveWithParent(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  const watcher = new Worker(leave, { execArgv: [], workerData: { parent: process.ppid } });
  watcher.on('error', () => undefined); // without this thread, only the channel reports the end of the run
  watcher.unref();
}

class WorkflowServer implements ProcessFunctions {
  readonly #composition: ConfigComposition;
  readonly #calls: SentCalls;
  readonly #judge: SentJudge;
  readonly #running = new Map<string, AbortController>();
  #opened: Opened | undefined;

  constructor(composition: ConfigComposition) {
    this.#composition = composition;
    const run = openChannel<RunFunctions, ProcessFunctions>(process, this);
    const abort = (call: number): void => void run.abort.asEvent(call);
    this.#calls = new SentCalls({ generate: run.generate, countPromptTokens: run.countPromptTokens, abort });
    this.#judge = new SentJudge((episodeId, message) => void run.judgeAway.asEvent(episodeId, message));
  }

  async open(config: CommonConfig, options: ProcessOptions): Promise<void> {
    const inputs = await loadWorkflowInputs({ config, composition: this.#composition }, options);
    this.#opened = { config, inputs, endpointHost: await startEndpointServer() };
  }

  async close(): Promise<void> {
    await this.#opened?.inputs.environment?.close?.();
    process.exit(0);
  }

  async run(task: Task, order: EpisodeOrder): Promise<RemoteEpisode> {
    const { episodeId } = order;
    const stop = new AbortController();
    this.#running.set(episodeId, stop);
    try {
      return toRemoteEpisode(await this.#execute(task, order, stop.signal));
    } finally {
      this.#running.delete(episodeId);
    }
  }

  stop(episodeId: string, reason: SentError): void {
    this.#running.get(episodeId)?.abort(fromSentError(reason));
  }

  judgeBack(episodeId: string): void {
    this.#judge.back(episodeId);
  }

  stream(call: number, piece: Piece): void {
    this.#calls.stream(call, piece);
  }

  #execute(task: Task, order: EpisodeOrder, signal: AbortSignal): Promise<Episode> {
    const { inputs, config, endpointHost } = this.#requireOpened();
    const { episodeId, timeoutMs } = order;
    return runEpisode(
      task,
      {
        workflow: inputs.workflow,
        judge: inputs.judge,
        trainableTargets: config.trainableTargets,
        policy: { kind: 'chat', model: (agent) => this.#calls.createModel(episodeId, agent) },
        sampling: sampledElsewhere,
        timeoutMs,
        endpointHost,
        environment: toEnvironmentHost(config, inputs.environment),
        keeper: this.#judge.keeperOf(order, episodeId),
      },
      { ...order, signal },
    );
  }

  #requireOpened(): Opened {
    if (this.#opened === undefined) throw new Error('The run sends its configuration first.');
    return this.#opened;
  }
}

type Opened = {
  readonly config: CommonConfig;
  readonly inputs: WorkflowInputs;
  readonly endpointHost: EndpointHost;
};
