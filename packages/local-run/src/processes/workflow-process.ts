import { fork, type ChildProcess } from 'node:child_process';
import inspector from 'node:inspector';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ConfigError, type ChatModel, type CommonConfig, type Task } from '@agentjet/core';
import type { AgentIdentity } from '@agentjet/context-tracker';
import type { EpisodeOrder, FromProcess, ProcessOptions, RemoteEpisode, ToProcess } from './messages.js';
import { fromSentError, toSentError } from './sent-error.js';

/** How long a process may take to end an episode that is out of time or was cancelled. */
const graceMs = 2000;

/** How long a process may take to import its workflow and open its environment. */
const longestStartMs = 10 * 60_000;

/** The error of an episode whose process has died. All other episodes in this process were lost too. */
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
  readonly judgeIsAway: (message: string) => void;
  /** Calls the listener when the judge is back. The returned function removes the listener. */
  readonly onJudgeBack?: ((listener: () => void) => () => void) | undefined;
};

type Running = RemoteRun & {
  readonly models: Map<number, ChatModel>;
  readonly resolve: (episode: RemoteEpisode) => void;
  readonly reject: (error: unknown) => void;
  readonly deadline: NodeJS.Timeout;
  isLate: boolean;
  /** Set as soon as the episode waits for its judge. */
  leaveJudge: (() => void) | undefined;
};

/** One process that runs workflows. */
export class WorkflowProcess {
  readonly #child: ChildProcess;
  readonly #running = new Map<string, Running>();
  readonly #calls = new Map<number, AbortController>();
  readonly #ready: Promise<void>;
  readonly #lastLines: string[] = [];
  #refuse: (error: ConfigError) => void = () => undefined;
  #isGone = false;
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
    this.#ready = new Promise((resolve, reject) => {
      this.#refuse = reject;
      this.#child.on('message', (message: FromProcess) => {
        if (message.type === 'ready') resolve();
        else if (message.type === 'refused') reject(fromSentError(message.error));
        else this.#receive(message);
      });
      this.#child.on('error', (error) => {
        reject(this.#startFailed(error.message));
        if (this.#child.pid === undefined) this.#lose(error.message); // a process that never started has no exit event
      });
      this.#child.once('exit', (code, signal) => {
        reject(this.#startFailed(describeExit(code, signal)));
        this.#lose(describeExit(code, signal));
      });
    });
    this.#ready.catch(() => undefined); // callers of `run` get this error
    this.#limitStart(startTimeoutMs);
    this.#send({ type: 'open', config, options });
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** The number of episodes in this process, including those that wait for its start. */
  get numEpisodes(): number {
    return this.#numAssigned;
  }

  /** Rejects with ProcessLost if the process dies, and with ConfigError for an error that every episode would have. */
  async run(run: RemoteRun): Promise<RemoteEpisode> {
    const { order, signal, task } = run;
    const { episodeId, timeoutMs } = order;
    const onAbort = (): void => this.#stop(episodeId, signal?.reason);
    this.#numAssigned++;
    try {
      await this.#ready;
      if (this.#isGone) throw new ProcessLost('The process has ended.', { numEpisodes: Infinity, isBlocked: false });
      return await new Promise<RemoteEpisode>((resolve, reject) => {
        const deadline = setTimeout(() => this.#expire(episodeId), timeoutMs + graceMs);
        const shared = { ...run, resolve, reject, deadline, isLate: false, leaveJudge: undefined };
        this.#running.set(episodeId, { ...shared, models: new Map() });
        this.#post({ type: 'run', task, episode: order });
        if (signal?.aborted === true) onAbort(); // the episode must be sent before it can be stopped
        signal?.addEventListener('abort', onAbort, { once: true });
      });
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
    if (this.#isGone) return;
    await new Promise<void>((resolve) => {
      this.#child.once('exit', () => resolve());
      this.#send({ type: 'close' });
      setTimeout(() => this.kill(), graceMs).unref();
    });
  }

  #receive(message: Exclude<FromProcess, { type: 'ready' | 'refused' }>): void {
    if (message.type === 'abort') return this.#calls.get(message.call)?.abort();
    const running = this.#running.get(message.episodeId);
    if (running === undefined) return;
    switch (message.type) {
      case 'call':
        return void this.#answer(running, message);
      case 'judge_away':
        clearTimeout(running.deadline); // the workflow has ended, and there is a separate time limit for the judge
        running.leaveJudge ??= running.onJudgeBack?.(() =>
          this.#send({ type: 'judge_back', episodeId: message.episodeId }),
        );
        return running.judgeIsAway(message.message);
      case 'done':
        return running.resolve(message.episode);
      case 'misconfigured':
        return running.reject(fromSentError(message.error));
    }
  }

  async #answer(running: Running, message: Extract<FromProcess, { type: 'call' }>): Promise<void> {
    const { call, model: number, agent, request, isStreamed, wantsTokens } = message;
    const aborting = new AbortController();
    this.#calls.set(call, aborting);
    try {
      const model = running.models.get(number) ?? running.createModel(agent);
      running.models.set(number, model);
      const response = await model.generate(request, {
        signal: aborting.signal,
        ...(isStreamed && { onDelta: (delta) => this.#send({ type: 'delta', call, delta }) }),
        ...(wantsTokens && { onTokens: (tokens) => this.#send({ type: 'tokens', call, tokens }) }),
      });
      this.#send({ type: 'answer', call, response });
    } catch (error) {
      this.#send({ type: 'failure', call, error: toSentError(error) });
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
    this.#send({ type: 'stop', episodeId, reason: toSentError(reason) });
    setTimeout(() => {
      if (this.#running.has(episodeId)) this.kill();
    }, graceMs).unref();
  }

  #lose(why: string): void {
    this.#isGone = true;
    for (const call of this.#calls.values()) call.abort();
    const numEpisodes = this.#running.size;
    const last = this.#lastLines.length === 0 ? '' : ` Its last output:\n${this.#lastLines.join('\n')}`;
    for (const { reject, isLate } of this.#running.values())
      reject(new ProcessLost(`The process of the workflow ended: ${why}.${last}`, { numEpisodes, isBlocked: isLate }));
  }

  /** Time limits do not count at a breakpoint. */
  #limitStart(timeoutMs: number): void {
    const expire = (): void => {
      if (inspector.url() !== undefined) return;
      const why = `it was not ready after ${timeoutMs / 1000} s: the import of a module, or the start of an environment, does not end`;
      this.#refuse(this.#startFailed(why));
      this.kill();
    };
    const timer = setTimeout(expire, timeoutMs);
    const stop = (): void => clearTimeout(timer);
    this.#ready.then(stop, stop);
  }

  #startFailed(why: string): ConfigError {
    const last = this.#lastLines.length === 0 ? '' : `\n${this.#lastLines.join('\n')}`;
    return new ConfigError(
      'process_failed',
      `A process of rollout.workflow_processes ended before it could run a workflow (${why}). Repair the module of rollout.user_workflow, or set rollout.workflow_processes: 0 to see it fail here.${last}`,
    );
  }

  /** Sends a message. If this fails, the process is dead, and the exit event reports this. */
  #send(message: ToProcess): void {
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  /** Throws if the task cannot be sent. */
  #post(message: ToProcess): void {
    try {
      this.#send(message);
    } catch (error) {
      throw new ConfigError(
        'bad_task',
        `A task cannot be sent to a process of rollout.workflow_processes: ${String(error)} Give tasks of plain data, or set rollout.workflow_processes: 0.`,
      );
    }
  }

  /**
   * Prints the output of the process line by line with the name of the process. The last lines are kept to explain why
   * it died.
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

function describeExit(code: number | null, signal: string | null): string {
  if (signal === 'SIGABRT' || code === 134)
    return 'it was aborted, as Node does when its memory is full (see node --max-old-space-size)';
  return signal === null ? `exit code ${code}` : `signal ${signal}`;
}
