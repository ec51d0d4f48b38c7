import {
  ConfigError,
  EnvironmentError,
  EnvironmentOutage,
  isJsonObject,
  isReward,
  rejectOnAbort,
  rewardRange,
  showValue,
  type Verdict,
} from '@agentjet/core';
import type { OpenAIEndpoint } from '../contract.js';
import type {
  Action,
  Observation,
  OpenSession,
  ProgramOrder,
  ProgramResult,
  Session,
  StepResult,
  ToolResult,
} from './environment.js';

/**
 * Wraps a session for a workflow. Calls run one at a time, in order. If a call takes too long or gets lost, the session
 * ends and the episode fails directly. An error that only the call throws might not fail the episode, because a
 * framework may pass errors of tools to the agent as text.
 */

export type GuardOptions = {
  /** The name that messages use. */
  readonly name: string;
  readonly callTimeoutMs: number;
  /** Default: `callTimeoutMs`. */
  readonly evaluateTimeoutMs?: number;
  /** Aborts when the episode ends. */
  readonly signal: AbortSignal;
  /** Called with an outage, or with the error of a method that the environment lacks. The episode cannot continue. */
  readonly onLost: (error: unknown) => void;
  readonly span: <T>(name: string, work: () => T) => T;
};

const methods = ['step', 'call', 'connect', 'run', 'evaluate'] as const;
type Method = (typeof methods)[number];

export class GuardedSession implements OpenSession {
  readonly observation: Observation;
  readonly tools: OpenSession['tools'];
  readonly toolServers: OpenSession['toolServers'];
  readonly #session: Session;
  readonly #options: GuardOptions;
  #last: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;
  #lost: unknown;
  #verdict: Verdict | undefined;

  constructor(session: Session, options: GuardOptions) {
    this.#session = session;
    this.#options = options;
    this.observation = checkObservation(session.observation, options.name);
    this.tools = session.tools ?? [];
    this.toolServers = session.toolServers ?? [];
  }

  /** The latest verdict of `evaluate`. Undefined if `evaluate` was not called after the last step. */
  get verdict(): Verdict | undefined {
    return this.#verdict;
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  step = (action: Action): Promise<StepResult> => {
    const { step } = this.#session;
    return this.#run('step', step, async () => checkStep(await step?.call(this.#session, action), this.#options.name));
  };

  call = (tool: string, args: Readonly<Record<string, unknown>>): Promise<ToolResult> => {
    const { call } = this.#session;
    return this.#run('call', call, async () =>
      checkResult(await call?.call(this.#session, tool, args), this.#options.name),
    );
  };

  connect = (endpoint: OpenAIEndpoint): Promise<OpenAIEndpoint> => {
    const { connect } = this.#session;
    return this.#run('connect', connect, async () => (await connect?.call(this.#session, endpoint)) ?? endpoint);
  };

  run = (order: ProgramOrder): Promise<ProgramResult> => {
    const { run } = this.#session;
    return this.#run('run', run, async () => {
      const result = await run?.call(this.#session, order);
      if (result === undefined) throw badAnswer(this.#options.name, 'the result of a program', result, '{ status }');
      return result;
    });
  };

  evaluate = (): Promise<Verdict> => {
    const { evaluate } = this.#session;
    return this.#run('evaluate', evaluate, async () => {
      const given = (async () => evaluate?.call(this.#session))().catch(asNobodysFailure);
      const verdict = checkVerdict(await given, this.#options.name);
      this.#verdict = verdict;
      return verdict;
    });
  };

  close = (): Promise<void> => {
    this.#closing ??= (async () => this.#session.close())();
    return this.#closing;
  };

  #run<T>(method: Method, has: unknown, work: () => Promise<T>): Promise<T> {
    if (has === undefined) return Promise.reject(this.#lose(unsupported(method, this.#session, this.#options.name)));
    const result = this.#last.then(() => this.#runNow(method, work));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #runNow<T>(method: Method, work: () => Promise<T>): Promise<T> {
    const { signal, name, span } = this.#options;
    const timeoutMs = this.#timeoutOf(method);
    if (this.#lost !== undefined) throw this.#lost;
    signal.throwIfAborted();
    if (this.#closing !== undefined)
      throw new EnvironmentError(
        'closed',
        `The session of ${name} is closed. Open another one for a further ${method}.`,
      );
    if (method !== 'evaluate') this.#verdict = undefined;
    const limit = new AbortController();
    const timer =
      timeoutMs === null ? undefined : setTimeout(() => limit.abort(tooLong(method, name, timeoutMs)), timeoutMs);
    try {
      return await span(`environment.${method}`, () => rejectOnAbort(rejectOnAbort(work(), limit.signal), signal));
    } catch (error) {
      throw error instanceof EnvironmentOutage ? this.#lose(error) : error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** A program has no limit of a call. It ends with its episode, or when the environment ends it. */
  #timeoutOf(method: Method): number | null {
    if (method === 'run') return null;
    const { callTimeoutMs, evaluateTimeoutMs = callTimeoutMs } = this.#options;
    return method === 'evaluate' ? evaluateTimeoutMs : callTimeoutMs;
  }

  #lose(error: unknown): unknown {
    this.#lost ??= error;
    void this.close().catch(() => undefined);
    this.#options.onLost(error);
    return error;
  }
}

/**
 * Converts a refusal to score into a failure that no agent caused. Scoring is not an action of the agent, so an
 * environment that refuses to score is broken.
 */
function asNobodysFailure(error: unknown): never {
  if (!(error instanceof EnvironmentError)) throw error;
  throw new EnvironmentError('bad_answer', error.message, { cause: error });
}

function tooLong(method: Method, name: string, callTimeoutMs: number): EnvironmentOutage {
  return new EnvironmentOutage(
    `${name} gave no answer to ${method} in ${callTimeoutMs / 1000} s (environment.call_timeout).`,
    { host: name },
  );
}

function unsupported(method: Method, session: Session, name: string): ConfigError {
  const has = methods.filter((each) => session[each] !== undefined);
  const advice = {
    step: 'Steps are for environments of the protocols agentjet, openenv and appworld, for tasks of Harbor with several steps, and for objects with a method step.',
    connect: 'Programs run inside of environments of the protocol harbor.',
    run: 'Programs run inside of environments of the protocol harbor.',
    call: 'Tools are for environments of the protocols mcp and openenv, and for objects with a method call.',
    evaluate:
      'Score the episode with another judge or in the workflow, or name a tool that scores it if the protocol is mcp.',
  };
  return new ConfigError(
    'unsupported',
    `${name} has no ${method}; it has ${has.length === 0 ? 'none of step, call, evaluate' : has.join(' and ')}. ${advice[method]}`,
  );
}

function badAnswer(name: string, what: string, value: unknown, wanted: string): EnvironmentError {
  const seen = showValue(what, value);
  return new EnvironmentError('bad_answer', `${name} returned ${seen} as ${what}. Return ${wanted}.`);
}

function checkObservation(value: unknown, name: string): Observation {
  if (typeof value === 'string') return { text: value };
  if (isJsonObject(value) && typeof value['text'] === 'string') return value as unknown as Observation;
  throw badAnswer(name, 'an observation', value, '{ text }');
}

function checkStep(value: unknown, name: string): StepResult {
  if (!isJsonObject(value)) throw badAnswer(name, 'the result of a step', value, '{ observation, reward, isDone }');
  const { observation, reward = null, isDone, info } = value;
  if (reward !== null && !isReward(reward))
    throw badAnswer(name, 'the reward of a step', reward, `${rewardRange}, or null`);
  if (typeof isDone !== 'boolean') throw badAnswer(name, 'isDone of a step', isDone, 'true or false');
  return { observation: checkObservation(observation, name), reward, isDone, ...(info !== undefined && { info }) };
}

function checkResult(value: unknown, name: string): ToolResult {
  if (typeof value === 'string') return { text: value };
  if (isJsonObject(value) && typeof value['text'] === 'string') return value as unknown as ToolResult;
  throw badAnswer(name, 'the result of a tool', value, '{ text }');
}

function checkVerdict(value: unknown, name: string): Verdict {
  const { reward, isSuccess } = isJsonObject(value) ? value : {};
  if (!isReward(reward))
    throw badAnswer(name, 'a verdict', value, `{ reward, isSuccess } with a reward of ${rewardRange}`);
  return { ...(value as Verdict), reward, isSuccess: typeof isSuccess === 'boolean' ? isSuccess : reward >= 1 };
}
