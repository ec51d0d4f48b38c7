import { hostname } from 'node:os';
import path from 'node:path';
import { ConfigError, rejectOnAbort } from '@agentjet/core';
import { startEndpointServer } from '@agentjet/endpoint';
import {
  isGroupJudge,
  limitSessions,
  type EndpointHost,
  type Environment,
  type EnvironmentHost,
  type Judge,
  type TaskInput,
  type WorkflowSource,
  type WrapModel,
} from '@agentjet/rollout';
import type {
  AbandonAnswer,
  ClaimAnswer,
  ClaimedEpisode,
  ClaimRequest,
  EndRequest,
  HeartbeatAnswer,
  HeartbeatRequest,
  Receipt,
  ServerAnswer,
  TasksAnswer,
  TasksRequest,
} from '@agentjet/swarm-wire';
import { createHttpTransport, type HttpTransport } from './http-transport.js';
import { systemClientHost, systemFetch, type ClientHost, type HostFetch } from './host.js';
import { toEndpoint, type EndpointAddress } from './endpoint-address.js';
import { retry } from './protocol/retry.js';
import { Worker, type WorkerOptions } from './protocol/worker.js';
import { executeWorkflow, type ExecuteOptions } from './run/execute-workflow.js';
import { JudgeWatch } from './run/judge-watch.js';
import { Notices } from './run/notices.js';
import { TaskBook, type TableOptions } from './run/task-book.js';
import { sendTasks } from './run/send-tasks.js';
import { Tally, type RunResult, type SwarmEvent } from './run/tally.js';
import { watchServer } from './run/watch-server.js';

/** Options of `new SwarmClient()`. */
export type SwarmClientOptions = {
  /** The address of the server: `http://127.0.0.1:8700`, or the near end of a tunnel to it. */
  readonly url: string;
  /** A worker's key. Default: the environment variable AJET_SWARM_KEY. */
  readonly key?: string | undefined;
  /**
   * The name of this version of the agent's code and the reward's code. Change it whenever you change the code. A group
   * never mixes two revisions. Default: ''.
   */
  readonly revision?: string;
  /** The kind of task that this program runs, if the server has several. Default: `default`. */
  readonly share?: string | undefined;
  /** The name of this program, which no other program may use at the same time. Default: the machine and the folder. */
  readonly client?: string;
  readonly host?: ClientHost;
  readonly fetch?: HostFetch;
};

/** Options of `client.run()`. */
export type SwarmRunOptions = {
  /** Tasks to send to the server at the start. Default: the tasks that another client has sent. */
  readonly tasks?: AsyncIterable<TaskInput> | Iterable<TaskInput>;
  /**
   * Held-out tasks, which are sent before the others. The server runs them when an evaluation is due. Default: none.
   */
  readonly evaluationTasks?: AsyncIterable<TaskInput> | Iterable<TaskInput>;
  /** If false, the content of tasks stays here, and only clients that bring them can run them. Default: true. */
  readonly portable?: boolean;
  /**
   * Whether the client may bring back a list of tasks that a newer list has replaced. Default: false, so a client that
   * was started with old tasks is refused. A list that is new to the run always replaces the run's list.
   */
  readonly replaceTasks?: boolean;
  /** The maximum number of concurrent episodes. `auto`: as many as the server runs at the same time. Default: 16. */
  readonly parallel?: number | 'auto';
  /** Scores an episode whose workflow returned no reward. */
  readonly judge?: Judge | undefined;
  /** The environment for the workflow's `tuner.openEnvironment`. `run` closes it. */
  readonly environment?: Environment | undefined;
  /** The maximum number of concurrent sessions. Further requests wait. Default: `parallel`. */
  readonly maxSessions?: number;
  /** The time limit to open a session of the environment, in seconds. Default: 120. */
  readonly openTimeoutSeconds?: number;
  /** The time limit of one call of a session, in seconds. Default: 60. */
  readonly callTimeoutSeconds?: number;
  /** The targets that learn, if the server does not set them. Default: the workflow's `trainableTargets`. */
  readonly trainableTargets?: readonly string[] | null | undefined;
  /** A longer episode fails. Default: 300. */
  readonly timeoutSeconds?: number;
  /** How long an episode waits for an unreachable judge. Null (the default) means without limit. */
  readonly scorePatienceSeconds?: number | null;
  readonly purpose?: ClaimRequest['purpose'];
  /** How long the server waits for a heartbeat before it gives an episode to another client. Default: 60. */
  readonly leaseSeconds?: number;
  readonly heartbeatSeconds?: number;
  readonly wrapModel?: WrapModel | undefined;
  /** Serves agents that need an address for their model. Default: a server on the loopback, for as long as the run. */
  readonly endpointHost?: EndpointHost;
  /** Where that server listens, and the address that agents get. Agents on other machines need both. */
  readonly endpoint?: EndpointAddress;
  readonly onEvent?: (event: SwarmEvent) => void;
  /** Called with each episode that has ended here, before the server has its end. */
  readonly onEpisode?: ExecuteOptions['onEpisode'];
  /** Stops the run: when it aborts, all running episodes are given back, and `run` resolves. */
  readonly signal?: AbortSignal;
};

export type AddTasksOptions = Pick<SwarmRunOptions, 'portable' | 'replaceTasks'> & {
  readonly split?: 'train' | 'evaluation';
};

/**
 * A program that runs agents for a swarm. The server has the weights, records every token and trains, so the program
 * needs neither weights nor a trainer. `run` takes a workflow with any adapter, unchanged. It continues after a restart
 * of either side.
 */
export class SwarmClient {
  readonly client: string;
  readonly #url: string;
  readonly revision: string;
  readonly share: string;
  readonly #host: ClientHost;
  readonly #fetch: NonNullable<SwarmClientOptions['fetch']>;
  readonly #transport: HttpTransport;
  #asksAfter: number | undefined;

  /** @throws ConfigError for an invalid address and for a key that cannot be sent */
  constructor(options: SwarmClientOptions) {
    const { url, key = process.env['AJET_SWARM_KEY'], revision = '', client = defaultName() } = options;
    this.#url = checkUrl(url);
    this.client = client;
    this.revision = revision;
    this.share = options.share ?? 'default';
    this.#host = options.host ?? systemClientHost;
    this.#fetch = options.fetch ?? systemFetch;
    this.#transport = createHttpTransport({
      url: this.#url,
      fetch: this.#fetch,
      ...(key !== undefined && key !== '' && { key }),
    });
  }

  server = (): Promise<ServerAnswer> => this.#transport.server();
  claim = (request: ClaimRequest): Promise<ClaimAnswer> => this.#transport.claim(request);
  heartbeat = (request: HeartbeatRequest): Promise<HeartbeatAnswer> => this.#transport.heartbeat(request);
  end = (episodeId: string, request: EndRequest): Promise<Receipt> => this.#transport.end(episodeId, request);
  abandon = (episodeId: string, reason = ''): Promise<AbandonAnswer> =>
    this.#transport.abandon(episodeId, { client: this.client, reason });

  /**
   * Sends the whole list of tasks to the server. The answer says how many were new, and how many the server already
   * had. A list that differs from the run's list replaces it. Groups that were drawn before keep their tasks, and new
   * groups come from the new list.
   */
  async addTasks(
    tasks: AsyncIterable<TaskInput> | Iterable<TaskInput>,
    { portable = true, split = 'train', replaceTasks = false }: AddTasksOptions = {},
  ): Promise<TasksAnswer> {
    const book = await TaskBook.read(tasks);
    return sendTasks(book, this.#table({ portable, replaceTasks }, split), (part) => this.#transport.addTasks(part));
  }

  /**
   * Asks for the next step now, if the server waits for its clients (`swarm.sample_collection`). The request is
   * repeated until the step is made.
   */
  async askForStep(): Promise<void> {
    this.#asksAfter = (await this.server()).version;
  }

  #table(
    { portable: isPortable = true, replaceTasks = false }: Pick<SwarmRunOptions, 'portable' | 'replaceTasks'>,
    split: 'train' | 'evaluation',
  ): TableOptions {
    return {
      isPortable,
      ...(replaceTasks && { again: true }),
      ...(split === 'evaluation' && { split }),
      ...(this.share !== 'default' && { share: this.share }),
    };
  }

  /**
   * Claims episodes, runs the workflow on their tasks and reports rewards, until the server has no more tasks, the
   * server stops, or the signal aborts. While the server is away, it waits. Rejects if the server refuses this client,
   * and for tasks that cannot be used.
   */
  async run(workflow: WorkflowSource, options: SwarmRunOptions = {}): Promise<RunResult> {
    checkJudge(options.judge);
    const { signal = new AbortController().signal, onEvent = () => undefined } = options;
    const tally = new Tally(onEvent);
    const notices = new Notices(this.#host, (message) => onEvent({ type: 'notice', message }));
    const stopped = new AbortController();
    const server =
      options.endpointHost === undefined ? await startEndpointServer(toEndpoint(options.endpoint)) : undefined;
    const endpointHost = options.endpointHost ?? server;
    if (endpointHost === undefined) throw new TypeError('There is no endpoint host.');
    try {
      const books = await this.#tellTasks(options, { signal, notices });
      const watching = watchServer({ host: this.#host, server: this.server, signal: stopped.signal, onEvent });
      const parallel = await this.#chooseParallel(options.parallel, { signal, notices });
      const worker = this.#createWorker({ workflow, options, parallel, books, tally, notices, endpointHost, signal });
      await worker.run().finally(() => stopped.abort());
      await watching;
      return tally.result(signal.aborted);
    } finally {
      stopped.abort();
      await server?.close();
      await options.environment?.close?.();
    }
  }

  /** Returns the number of slots, which is the server's if the caller leaves it open. */
  async #chooseParallel(given: SwarmRunOptions['parallel'] = 16, asking: Asking): Promise<number> {
    if (given !== 'auto') return checkCount('parallel', given);
    const found = await this.#repeat(this.server, asking).catch((error: unknown) => {
      if (!asking.signal.aborted) throw error;
    });
    return Math.max(1, found?.capacity ?? 1);
  }

  /** Repeats a request until the server answers or the run stops. */
  #repeat<Answer>(request: () => Promise<Answer>, { signal, notices }: Asking): Promise<Answer> {
    return rejectOnAbort(retry(this.#host, request, { signal, onRetry: notices.onRetry }), signal);
  }

  async #tellTasks({ tasks, evaluationTasks = [], ...options }: SwarmRunOptions, asking: Asking): Promise<TaskBooks> {
    const books = { evaluation: await TaskBook.read(evaluationTasks), train: await TaskBook.read(tasks ?? []) };
    if (tasks !== undefined && books.train.size === 0)
      throw new ConfigError('no_tasks', 'There are no tasks to run. Give at least one, or leave `tasks` out.');
    const send = (part: TasksRequest): Promise<TasksAnswer> =>
      this.#repeat(() => this.#transport.addTasks(part), asking);
    for (const split of ['evaluation', 'train'] as const)
      await sendTasks(books[split], this.#table(options, split), send).catch((error: unknown) => {
        if (!asking.signal.aborted) throw error;
      });
    return books;
  }

  #createWorker({ workflow, options, parallel, books, tally, notices, endpointHost, signal }: WorkerParts): Worker {
    const { leaseSeconds = 60, heartbeatSeconds = 1, timeoutSeconds = 300 } = options;
    const shared = {
      host: this.#host,
      fetch: this.#fetch,
      url: this.#url,
      client: this.client,
      workflow,
      judge: options.judge,
      judgeWatch: new JudgeWatch((message) => options.onEvent?.({ type: 'notice', message })),
      trainableTargets: options.trainableTargets,
      timeoutMs: timeoutSeconds * 1000,
      scorePatienceMs: toMs(options.scorePatienceSeconds ?? null),
      endpointHost,
      environment: toEnvironmentHost(options, parallel),
      wrapModel: options.wrapModel,
      onNotice: notices.say,
      onEpisode: options.onEpisode,
    };
    const execute: WorkerOptions['execute'] = async (episode, episodeSignal) => {
      const task = books[episode.purpose].find(episode.task_id, episode.task, episode.task_hash);
      tally.begin(episode, this.#host.now());
      if (task === undefined) return unknownTask(episode.task_id, this.client);
      return executeWorkflow(shared, { episode, task, signal: episodeSignal });
    };
    return new Worker({
      ...protocolDefaults,
      host: this.#host,
      transport: this.#transport,
      client: this.client,
      revision: this.revision,
      shares: [this.share],
      asksAfter: () => this.#asksAfter,
      purpose: options.purpose ?? 'any',
      parallel,
      leaseSeconds,
      heartbeatMs: heartbeatSeconds * 1000,
      execute,
      isDone: ({ reason }) => tally.isDone(reason, options.tasks !== undefined),
      onEnd: (receipt, end) => tally.end(receipt, end, this.#host.now()),
      onGone: (episodeId, reason) => tally.gone(episodeId, reason),
      onNotice: notices.say,
      onRetry: notices.onRetry,
      signal,
    });
  }
}

/** A repeated request stops with the signal, and its repetitions are reported as notices. */
type Asking = { readonly signal: AbortSignal; readonly notices: Notices };

type TaskBooks = Readonly<Record<ClaimedEpisode['purpose'], TaskBook>>;

type WorkerParts = {
  readonly workflow: WorkflowSource;
  readonly options: SwarmRunOptions;
  readonly parallel: number;
  readonly books: TaskBooks;
  readonly tally: Tally;
  readonly notices: Notices;
  readonly endpointHost: EndpointHost;
  readonly signal: AbortSignal;
};

const protocolDefaults = {
  waitSeconds: 20,
  idleMs: 200,
  gatherMs: 2,
  firstGapMs: 100,
  maxGapMs: 5000,
  outageGapMs: 500,
};

const defaultName = (): string => `${hostname()}-${path.basename(process.cwd())}`;

function toEnvironmentHost(options: SwarmRunOptions, parallel: number): EnvironmentHost | undefined {
  const { environment, maxSessions = parallel, openTimeoutSeconds = 120, callTimeoutSeconds = 60 } = options;
  if (environment === undefined) return undefined;
  return {
    environment: limitSessions(environment, checkCount('maxSessions', maxSessions)),
    openTimeoutMs: openTimeoutSeconds * 1000,
    callTimeoutMs: callTimeoutSeconds * 1000,
  };
}

const toMs = (seconds: number | null): number | null => (seconds === null ? null : seconds * 1000);

function checkUrl(url: string): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url.replace(/\/+$/, '');
  throw new ConfigError(
    'wrong_type',
    `The server's address is ${JSON.stringify(url)}. Give one such as http://127.0.0.1:8700.`,
  );
}

/**
 * Throws ConfigError for a judge of whole groups. The episodes of a group may run on several machines, so no client
 * sees all of them.
 */
function checkJudge(judge: Judge | undefined): void {
  if (judge === undefined || !isGroupJudge(judge)) return;
  throw new ConfigError(
    'bad_judge',
    'The judge scores whole groups, and a client of a swarm runs single episodes. Give a judge with judge(task, output).',
  );
}

function checkCount(name: string, value: number): number {
  if (Number.isInteger(value) && value > 0) return value;
  throw new ConfigError('wrong_type', `${name} is ${value}; it must be a whole number from 1.`);
}

/** Creates the end of an episode whose task has its content only on another client. */
function unknownTask(taskId: string, client: string): EndRequest {
  const error = `This client does not have task "${taskId}", and the server does not have its content.`;
  return { client, status: 'outage', reward: null, is_success: null, metadata: {}, log_metrics: {}, error };
}
