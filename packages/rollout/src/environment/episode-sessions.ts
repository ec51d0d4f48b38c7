import {
  ConfigError,
  deriveSeed,
  EngineError,
  EnvironmentOutage,
  rejectOnAbort,
  type Task,
  type Verdict,
} from '@agentjet/core';
import type { Environment, OpenSession, Session, SessionLimits } from './environment.js';
import { GuardedSession, type GuardOptions } from './guarded-session.js';

/** The environment of a run, and the time limits of its calls. */
export type EnvironmentHost = {
  readonly environment: Environment;
  readonly openTimeoutMs: number;
  readonly callTimeoutMs: number;
  /** How long an ended episode waits for its sessions to close. They continue to close afterwards. Default: 10 s. */
  readonly closeTimeoutMs?: number;
};

type SessionsOptions = Pick<GuardOptions, 'signal' | 'onLost' | 'span'> & {
  readonly host: EnvironmentHost | undefined;
  readonly episodeId: string;
};

const defaultCloseTimeoutMs = 10_000;

/** The sessions that one episode opens. */
export class EpisodeSessions {
  readonly #options: SessionsOptions;
  readonly #opened: GuardedSession[] = [];
  /** Sessions that are being opened. Each one either joins `#opened` or is closed. */
  readonly #opening = new Set<Promise<unknown>>();
  /** Aborts when the episode ends, so the episode does not wait for sessions that nobody will use. */
  readonly #over = new AbortController();
  #number = 0;
  #closing: Promise<void> | undefined;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  open = async (task: Task): Promise<OpenSession> => {
    const { host, signal, onLost } = this.#options;
    if (host === undefined) throw this.#lost(noEnvironment());
    this.#over.signal.throwIfAborted();
    signal.throwIfAborted();
    try {
      return await this.#open(task, host);
    } catch (error) {
      if (error instanceof EnvironmentOutage || error instanceof ConfigError) onLost(error);
      throw error;
    }
  };

  /**
   * Returns the verdict of the session that was opened last. Resolves with null if there was no session, or if the
   * session cannot score.
   */
  evaluate = async (isNeeded: boolean): Promise<Verdict | null> => {
    const session = this.#opened.at(-1);
    if (session === undefined) return null;
    if (session.verdict !== undefined || !isNeeded) return session.verdict ?? null;
    if (session.isClosed) throw closedTooEarly();
    return session.evaluate();
  };

  /** Ends all sessions, including those that are still being opened. Never rejects. */
  close = (): Promise<void> => (this.#closing ??= this.#closeAll());

  async #closeAll(): Promise<void> {
    this.#over.abort(new EngineError('closed', `Episode "${this.#options.episodeId}" has ended.`));
    const closing = Promise.allSettled([...this.#opening, ...this.#opened.map((session) => session.close())]);
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise((resolve) => {
      timer = setTimeout(resolve, this.#options.host?.closeTimeoutMs ?? defaultCloseTimeoutMs);
    });
    await Promise.race([closing, tooLong]);
    clearTimeout(timer);
  }

  async #open(task: Task, host: EnvironmentHost): Promise<GuardedSession> {
    const { environment } = host;
    const { signal, onLost, span, episodeId } = this.#options;
    const limits = environment.limits === undefined ? {} : await environment.limits(task);
    this.#over.signal.throwIfAborted();
    const { openTimeoutMs, ...timeouts } = timeoutsOf(host, limits);
    const name = environment.name ?? 'the environment';
    const number = this.#number++;
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(tooLong(name, openTimeoutMs)), openTimeoutMs);
    const ended = AbortSignal.any([signal, this.#over.signal, limit.signal]);
    const opening = Promise.resolve().then(() =>
      environment.open(task, {
        seed: deriveSeed(0, 'environment', task.taskId),
        signal: ended,
        episodeId: number === 0 ? episodeId : `${episodeId}-s${number + 1}`,
      }),
    );
    // If the session is opened too late, it is closed at once.
    const settled = opening.then(
      (session) => (ended.aborted ? closeQuietly(session) : undefined),
      () => undefined,
    );
    this.#opening.add(settled);
    void settled.finally(() => this.#opening.delete(settled));
    try {
      const session = await span('environment.open', () => rejectOnAbort(opening, ended));
      const guarded = await guard(checkSession(session, name), { name, ...timeouts, signal, onLost, span });
      this.#opened.push(guarded);
      if (ended.aborted) await guarded.close().catch(() => undefined);
      ended.throwIfAborted();
      return guarded;
    } finally {
      clearTimeout(timer);
    }
  }

  #lost(error: ConfigError): ConfigError {
    this.#options.onLost(error);
    return error;
  }
}

/** The time limits of the configuration, or longer ones that the environment wants for the task. */
function timeoutsOf({ openTimeoutMs, callTimeoutMs }: EnvironmentHost, limits: SessionLimits) {
  const { open = 0, call = 0, evaluate = 0 } = limits;
  return {
    openTimeoutMs: Math.max(openTimeoutMs, open * 1000),
    callTimeoutMs: Math.max(callTimeoutMs, call * 1000),
    evaluateTimeoutMs: Math.max(callTimeoutMs, evaluate * 1000),
  };
}

/**
 * Checks a new session and wraps it. A session that cannot be used is closed here, because no other code has a
 * reference to it.
 */
async function guard(session: Session, options: GuardOptions): Promise<GuardedSession> {
  try {
    return new GuardedSession(session, options);
  } catch (error) {
    await closeQuietly(session);
    throw error;
  }
}

async function closeQuietly(session: Session): Promise<void> {
  await (async () => session.close())().catch(() => undefined);
}

function checkSession(session: unknown, name: string): Session {
  if (typeof session === 'object' && session !== null && 'close' in session && typeof session.close === 'function')
    return session as Session;
  throw new ConfigError(
    'bad_environment',
    `open() of ${name} returned no session. Return { observation, tools, step, close }.`,
  );
}

function tooLong(name: string, ms: number): EnvironmentOutage {
  return new EnvironmentOutage(`${name} opened no session in ${ms / 1000} s (environment.open_timeout).`, {
    host: name,
  });
}

function closedTooEarly(): ConfigError {
  return new ConfigError(
    'no_verdict',
    'The workflow closed its session, so the judge cannot ask it for a verdict. Leave the session open, because it is closed when the episode ends; or call session.evaluate() before session.close().',
  );
}

function noEnvironment(): ConfigError {
  return new ConfigError(
    'no_environment',
    'The workflow opens an environment, but this run has none. Set environment.protocol, use task_reader.type: env_service, or call setEnvironment() on the job.',
  );
}
