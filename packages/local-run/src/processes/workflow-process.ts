import { fork, type ChildProcess } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import inspector from 'node:inspector';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import {
  AgentJetError,
  ConfigError,
  EngineError,
  isCountingChatModel,
  rejectOnAbort,
  type ChatModel,
  type ChatResponse,
  type CommonConfig,
  type Task,
} from '@agentjet/core';
import type { AgentIdentity } from '@agentjet/context-tracker';
import type { EpisodeOptions } from '@agentjet/rollout';
import type { BirpcReturn } from 'birpc';
import { openChannel } from './channel.js';
import type {
  AskedCall,
  AskedModel,
  EpisodeOrder,
  Piece,
  ProcessFunctions,
  ProcessOptions,
  RunFunctions,
} from './functions.js';
import type { RemoteEpisode } from './remote-episode.js';
import { toSentError } from './sent-error.js';

/** How long a process may take to end an episode that is out of time or was cancelled. */
const graceMs = 2000;

/** How long a process may take to import its workflow and open its environment. */
const longestStartMs = 10 * 60_000;

/** The error of an episode whose process has ended unexpectedly. All other episodes in this process were lost too. */
export class ProcessLost extends Error {
  /** The number of episodes that ran in it. */
  readonly numEpisodes: number;
  /** Whether the process was killed because this episode was out of time and the process did not answer any more. */
  readonly isBlocked: boolean;

  constructor(
    message: string,
    { numEpisodes, isBlocked }: { readonly numEpisodes: number; readonly isBlocked: boolean },
  ) {
    super(message);
    this.numEpisodes = numEpisodes;
    this.isBlocked = isBlocked;
  }
}

export type RemoteRun = {
  readonly task: Task;
  readonly order: EpisodeOrder;
  /** If it is aborted, the episode ends. */
  readonly signal: AbortSignal | undefined;
  /** Returns the tuned model of an agent. Called once for each number. */
  readonly createModel: (agent: AgentIdentity) => ChatModel;
  readonly keeper?: EpisodeOptions['keeper'];
};

type Running = RemoteRun & {
  readonly models: Map<number, ChatModel>;
  readonly deadline: NodeJS.Timeout;
  isLate: boolean;
  /** Set as soon as the episode waits for its judge. */
  leaveJudge: (() => void) | undefined;
};

/** One process that runs workflows. */
export class WorkflowProcess {
  readonly #child: ChildProcess;
  readonly #functions: BirpcReturn<ProcessFunctions, RunFunctions>;
  /** Aborted when the process has ended. */
  readonly #gone = new AbortController();
  readonly #running = new Map<string, Running>();
  readonly #calls = new Map<number, AbortController>();
  readonly #ready: Promise<void>;
  readonly #lastLines: string[] = [];
  #numAssigned = 0;

  constructor(
    entry: URL,
    {
      config,
      options,
      name,
      startTimeoutMs = longestStartMs,
    }: {
      readonly config: CommonConfig;
      readonly options: ProcessOptions;
      readonly name: string;
      /** Default: ten minutes. */
      readonly startTimeoutMs?: number;
    },
  ) {
    const execArgv = process.execArgv.filter((flag) => !flag.startsWith('--inspect'));
    this.#child = fork(fileURLToPath(entry), [], {
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      execArgv,
    });
    this.#show(name);
    setMaxListeners(0, this.#gone.signal); // each running episode adds a listener
    this.#functions = openChannel<ProcessFunctions, RunFunctions>(this.#child, {
      generate: (asked) => this.#answer(asked),
      countPromptTokens: (asked) => this.#count(asked),
      abort: (call) => this.#calls.get(call)?.abort(),
      judgeAway: (episodeId, message) => this.#judgeIsAway(episodeId, message),
    });
    this.#child.on('error', (error) => {
      if (this.#child.pid === undefined) this.#lose(error.message); // a process that never started has no exit event
    });
    this.#child.once('exit', (code, signal) => this.#lose(describeExit(code, signal)));
    this.#ready = rejectOnAbort(this.#functions.open(config, options), this.#gone.signal, () => this.#startFailed());
    this.#ready.catch(() => undefined); // callers of `run` get this error
    this.#limitStart(startTimeoutMs);
  }

  get isGone(): boolean {
    return this.#gone.signal.aborted;
  }

  /** The number of episodes in this process, including those that wait for its start. */
  get numEpisodes(): number {
    return this.#numAssigned;
  }

  /**
   * Rejects with ProcessLost if the process ends unexpectedly, and with ConfigError for an error that every episode
   * would have.
   */
  async run(run: RemoteRun): Promise<RemoteEpisode> {
    const { order, signal, task } = run;
    const { episodeId, timeoutMs } = order;
    const onAbort = (): void => this.#stop(episodeId, signal?.reason);
    this.#numAssigned++;
    try {
      await this.#ready;
      if (this.isGone) throw new ProcessLost('The process has ended.', { numEpisodes: Infinity, isBlocked: false });
      const deadline = setTimeout(() => this.#expire(episodeId), timeoutMs + graceMs);
      const running = { ...run, models: new Map(), deadline, isLate: false, leaveJudge: undefined };
      this.#running.set(episodeId, running);
      const episode = this.#functions.run(task, order).catch(toRefusal);
      if (signal?.aborted === true) onAbort(); // the episode must be sent before it can be stopped
      signal?.addEventListener('abort', onAbort, { once: true });
      return await rejectOnAbort(episode, this.#gone.signal, () => this.#lostWith(running));
    } finally {
      this.#numAssigned--;
      signal?.removeEventListener('abort', onAbort);
      clearTimeout(this.#running.get(episodeId)?.deadline);
      this.#running.get(episodeId)?.leaveJudge?.();
      this.#running.delete(episodeId);
    }
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Lets the process close its environment. Resolves when the process has ended. */
  async close(): Promise<void> {
    if (this.isGone) return;
    await new Promise<void>((resolve) => {
      this.#child.once('exit', () => resolve());
      void this.#functions.close.asEvent();
      setTimeout(() => this.kill(), graceMs).unref();
    });
  }

  #judgeIsAway(episodeId: string, message: string): void {
    const running = this.#running.get(episodeId);
    if (running === undefined) return;
    const { deadline, keeper } = running;
    clearTimeout(deadline); // the workflow has ended, and there is a separate time limit for the judge
    running.leaveJudge ??= keeper?.onJudgeBack?.(() => void this.#functions.judgeBack.asEvent(episodeId));
    keeper?.judgeIsAway(episodeId, message);
  }

  #modelOf({ episodeId, model: number, agent }: AskedModel): ChatModel {
    const running = this.#running.get(episodeId);
    if (running === undefined) throw new EngineError('closed', 'This model is closed: its episode has ended.');
    const model = running.models.get(number) ?? running.createModel(agent);
    running.models.set(number, model);
    return model;
  }

  async #count(asked: AskedModel): Promise<number> {
    const model = this.#modelOf(asked);
    if (!isCountingChatModel(model)) throw new Error(`The model ${model.name} cannot count tokens.`);
    return model.countPromptTokens(asked.request);
  }

  async #answer({ call, ...asked }: AskedCall): Promise<ChatResponse> {
    const model = this.#modelOf(asked);
    const aborting = new AbortController();
    this.#calls.set(call, aborting);
    try {
      const stream = (piece: Piece): void => void this.#functions.stream.asEvent(call, piece);
      return await model.generate(asked.request, {
        signal: aborting.signal,
        ...(asked.isStreamed && { onDelta: (delta) => stream({ delta }) }),
        ...(asked.wantsTokens && { onTokens: (tokens) => stream({ tokens }) }),
      });
    } finally {
      this.#calls.delete(call);
    }
  }

  /** Time limits do not count at a breakpoint. */
  #expire(episodeId: string): void {
    const running = this.#running.get(episodeId);
    if (running === undefined || inspector.url() !== undefined) return;
    running.isLate = true;
    this.kill();
  }

  #stop(episodeId: string, reason: unknown): void {
    void this.#functions.stop.asEvent(episodeId, toSentError(reason));
    setTimeout(() => {
      if (this.#running.has(episodeId)) this.kill();
    }, graceMs).unref();
  }

  #lose(why: string): void {
    for (const call of this.#calls.values()) call.abort();
    this.#gone.abort(why);
  }

  #lostWith({ isLate }: Running): ProcessLost {
    const last = this.#lastLines.length === 0 ? '' : ` Its last output:\n${this.#lastLines.join('\n')}`;
    const message = `The process of the workflow ended: ${String(this.#gone.signal.reason)}.${last}`;
    return new ProcessLost(message, { numEpisodes: this.#running.size, isBlocked: isLate });
  }

  /** Time limits do not count at a breakpoint. */
  #limitStart(timeoutMs: number): void {
    const expire = (): void => {
      if (inspector.url() !== undefined) return;
      const why = `it was not ready after ${timeoutMs / 1000} s: the import of a module, or the start of an environment, does not end`;
      this.#lose(why);
      this.kill();
    };
    const timer = setTimeout(expire, timeoutMs);
    const stop = (): void => clearTimeout(timer);
    this.#ready.then(stop, stop);
  }

  #startFailed(): ConfigError {
    const last = this.#lastLines.length === 0 ? '' : `\n${this.#lastLines.join('\n')}`;
    return new ConfigError(
      'process_failed',
      `A process of rollout.workflow_processes ended before it could run a workflow (${String(this.#gone.signal.reason)}). Repair the module of rollout.user_workflow, or set rollout.workflow_processes: 0 to see it fail here.${last}`,
    );
  }

  /**
   * Prints the output of the process line by line with the name of the process. The last lines are kept to explain why
   * the process ended.
   */
  #show(name: string): void {
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        process.stderr.write(`[${name}] ${line}\n`);
        if (stream === this.#child.stdout) return;
        this.#lastLines.push(line);
        if (this.#lastLines.length > 5) this.#lastLines.shift();
      });
    }
  }
}

/** The process rejects with errors of AgentJet only. Any other error means that the task was not sent. */
function toRefusal(error: unknown): never {
  if (error instanceof AgentJetError) throw error;
  throw new ConfigError(
    'bad_task',
    `A task cannot be sent to a process of rollout.workflow_processes: ${String(error)} Give tasks of plain data, or set rollout.workflow_processes: 0.`,
  );
}

function describeExit(code: number | null, signal: string | null): string {
  if (signal === 'SIGABRT' || code === 134)
    return 'it was aborted, as Node does when its memory is full (see node --max-old-space-size)';
  return signal === null ? `exit code ${code}` : `signal ${signal}`;
}
