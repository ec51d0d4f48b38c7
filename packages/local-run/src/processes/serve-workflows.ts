import { Worker } from 'node:worker_threads';
import { startEndpointServer } from '@agentjet/endpoint';
import { ConfigError, type CommonConfig, type ConfigComposition, type Task } from '@agentjet/core';
import { runEpisode, sampledElsewhere, type EndpointHost, type Episode } from '@agentjet/rollout';
import { failEpisodesThatExit } from '@agentjet/rollout/loading';
import { loadWorkflowInputs, type WorkflowInputs } from '@agentjet/inputs';
import { toEnvironmentHost } from './environment-host.js';
import type { EpisodeOrder, FromProcess, RemoteEpisode, ToProcess } from './messages.js';
import { fromSentError, toSentError } from './sent-error.js';
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
  const send = (message: FromProcess): void => void process.send?.(message);
  const server = new WorkflowServer(send);
  process.on('message', (message: ToProcess) => {
    server
      .receive(message, composition)
      .catch((error: unknown) => send({ type: 'refused', error: toSentError(error) }));
  });
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

class WorkflowServer {
  readonly #send: (message: FromProcess) => void;
  readonly #calls: SentCalls;
  readonly #judge: SentJudge;
  readonly #running = new Map<string, AbortController>();
  #opened: Opened | undefined;

  constructor(send: (message: FromProcess) => void) {
    this.#send = send;
    this.#calls = new SentCalls(send);
    this.#judge = new SentJudge(send);
  }

  async receive(message: ToProcess, composition: ConfigComposition): Promise<void> {
    switch (message.type) {
      case 'open': {
        const { config, options } = message;
        const inputs = await loadWorkflowInputs({ config, composition }, options);
        this.#opened = { config, inputs, endpointHost: await startEndpointServer() };
        return this.#send({ type: 'ready' });
      }
      case 'close':
        await this.#opened?.inputs.environment?.close?.();
        process.exit(0);
        break;
      case 'run':
        return this.#run(message.task, message.episode);
      case 'stop':
        return this.#running.get(message.episodeId)?.abort(fromSentError(message.reason));
      case 'judge_back':
        return this.#judge.back(message.episodeId);
      default:
        return this.#calls.receive(message);
    }
  }

  async #run(task: Task, order: EpisodeOrder): Promise<void> {
    const { episodeId } = order;
    const stop = new AbortController();
    this.#running.set(episodeId, stop);
    try {
      this.#finish(await this.#execute(task, order, stop.signal));
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.#send({ type: 'misconfigured', episodeId, error: toSentError(error) });
    } finally {
      this.#running.delete(episodeId);
    }
  }

  #execute(task: Task, order: EpisodeOrder, signal: AbortSignal): Promise<Episode> {
    const { inputs, config, endpointHost } = this.#open();
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

  /**
   * Sends a finished episode to the run. If a value cannot be sent, such as a function in the metadata, only its
   * episode fails.
   */
  #finish(whole: Episode): void {
    const episode = toRemote(whole);
    const { episodeId } = episode;
    try {
      this.#send({ type: 'done', episodeId, episode });
    } catch (error) {
      const message = `What the workflow returned cannot be sent to the run: ${String(error)} Return plain data.`;
      const { repeatIndex, seed } = episode;
      const failed = { status: 'failed', error: { code: 'bad_output', message } } as const;
      this.#send({
        type: 'done',
        episodeId,
        episode: { episodeId, repeatIndex, seed, metadata: {}, logMetrics: {}, ...failed },
      });
    }
  }

  #open(): Opened {
    if (this.#opened === undefined) throw new Error('The run sends its configuration first.');
    return this.#opened;
  }
}

type Opened = {
  readonly config: CommonConfig;
  readonly inputs: WorkflowInputs;
  readonly endpointHost: EndpointHost;
};

function toRemote(episode: Episode): RemoteEpisode {
  const { task: _task, samples: _samples, turns: _turns, stats: _stats, ...rest } = episode;
  const { calls: _calls, ignoredParameters: _ignored, turnRewards: _rewards, seconds: _seconds, ...remote } = rest;
  return remote as RemoteEpisode;
}
