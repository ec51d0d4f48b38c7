import { randomUUID } from 'node:crypto';
import {
  EnvironmentError,
  EnvironmentOutage,
  isJsonObject,
  type JsonObject,
  type Task,
  type Verdict,
} from '@agentjet/core';
import type { Action, Environment, Observation, Session, StepResult } from '@agentjet/rollout/inputs';
import { askAgain, closeSignal, listSignal } from '../http/ask-again.js';
import { hostOf, postJson, ServerOutage, type ServerAddress } from '../http/post-json.js';

/**
 * The environment service of the Python AgentJet: POST /get_env_profile, /create, /step, /evaluate and /release, each with the same five
 * fields. The client chooses the id of an instance, which consists of the episode's id and a part that no other run has.
 */

const addressKey = 'environment.agentjet.url';

export type AgentjetOptions = ServerAddress & {
  /** The server's name for the environment, such as `appworld`. */
  readonly envType: string;
  /** Parameters for the environment, sent with `create`. */
  readonly params?: JsonObject;
  /** Sent with `evaluate`. Default: `{ sparse: false }`, with which the original client asks for partial credit. */
  readonly evaluateParams?: JsonObject;
  /** Time limit of one attempt to list tasks. Default: one minute. */
  readonly listTimeoutMs?: number;
  /** Time limit of all attempts to release an instance. Default: one minute. */
  readonly releaseTimeoutMs?: number;
};

const openTries = 3;
const evaluateTries = 5;
const closeTries = 8;

export function openAgentjet(options: AgentjetOptions): Environment {
  const server = new Server(options);
  return {
    name: hostOf(options),
    tasks: (split) => server.tasks(split),
    open: (task, { signal, episodeId }) => server.open(task, { signal, episodeId }),
  };
}

type Ask = {
  readonly taskId?: string;
  readonly instanceId?: string;
  readonly messages?: JsonObject;
  readonly params?: JsonObject;
  readonly signal: AbortSignal;
};

class Server {
  readonly #options: AgentjetOptions;
  readonly #nonce = randomUUID().slice(0, 8);
  #opened = 0;

  constructor(options: AgentjetOptions) {
    this.#options = options;
  }

  get evaluateParams(): JsonObject {
    return this.#options.evaluateParams ?? { sparse: false };
  }

  /** Returns the field `data` of the answer. */
  async ask(route: string, { taskId, instanceId, messages = {}, params = {}, signal }: Ask): Promise<unknown> {
    const body = {
      env_type: this.#options.envType,
      task_id: taskId ?? null,
      instance_id: instanceId ?? null,
      messages,
      params,
    };
    const answer = await postJson({ addressKey, ...this.#options }, route, { body, signal });
    if (isJsonObject(answer) && answer['success'] !== false) return answer['data'] ?? answer['task_ids'];
    if (route === '/release' && isJsonObject(answer)) return null; // it was already released
    throw this.unreadable(route, answer);
  }

  unreadable(route: string, answer: unknown): EnvironmentOutage {
    const host = hostOf(this.#options);
    const seen = JSON.stringify(answer)?.slice(0, 200);
    return new ServerOutage(
      'lost',
      `POST ${route} at ${host} gave an answer that does not match the protocol: ${seen}`,
      {
        host,
      },
    );
  }

  foreign(route: string, named: string): EnvironmentOutage {
    const host = hostOf(this.#options);
    return new ServerOutage('lost', `POST ${route} at ${host} answered for another instance, ${named.slice(0, 100)}.`, {
      host,
    });
  }

  async *tasks(split: string): AsyncGenerator<Task> {
    const ask = (): Promise<unknown> => {
      const signal = listSignal(hostOf(this.#options), this.#options.listTimeoutMs);
      return this.ask('/get_env_profile', { params: { split }, signal });
    };
    const ids = await askAgain(ask, { tries: openTries });
    if (!Array.isArray(ids)) throw this.unreadable('/get_env_profile', ids);
    for (const id of ids) {
      const taskId = String(id);
      yield { taskId, mainQuery: '', initMessages: [], metadata: { env_type: this.#options.envType, split } };
    }
  }

  /**
   * If an answer is lost, its instance is released and the next attempt has another id, because the state of the first
   * instance is unknown.
   */
  async open(
    { taskId }: Task,
    { signal, episodeId }: { readonly signal: AbortSignal; readonly episodeId: string },
  ): Promise<Session> {
    return askAgain(
      async () => {
        const instanceId = `${episodeId}-${this.#nonce}-${this.#opened++}`;
        try {
          const { params = {} } = this.#options;
          const created = await this.ask('/create', { taskId, instanceId, params, signal });
          const { observation } = this.readStep('/create', created, instanceId);
          return new Instance(this, instanceId, observation);
        } catch (error) {
          if (!(error instanceof ServerOutage && error.kind === 'absent')) await this.release(instanceId);
          throw error instanceof EnvironmentError ? notOpened(taskId, error) : error;
        }
      },
      { signal, tries: openTries },
    );
  }

  /**
   * Releases an instance. After some seconds without success, it gives up without an error, because servers drop unused
   * instances.
   */
  async release(instanceId: string): Promise<void> {
    const signal = closeSignal(this.#options.releaseTimeoutMs);
    const ask = async (): Promise<void> => {
      try {
        await this.ask('/release', { instanceId, signal });
      } catch (error) {
        if (!(error instanceof ServerOutage && error.kind === 'absent')) throw error; // without the server, the instance is gone too
      }
    };
    await askAgain(ask, { tries: closeTries }).catch(() => undefined);
  }

  /** Reads an answer. If it names an instance, that must be the instance of the request. */
  readStep(route: string, data: unknown, instanceId: string): StepResult {
    if (!isJsonObject(data)) throw this.unreadable(route, data);
    const { state, reward, is_terminated: isDone, info } = data;
    const { instance_id: named } = isJsonObject(info) ? info : {};
    if (typeof named === 'string' && named !== instanceId) throw this.foreign(route, named);
    const observation = readState(state);
    if (observation === undefined || (typeof reward !== 'number' && reward !== null && reward !== undefined))
      throw this.unreadable(route, data);
    return { observation, reward: reward ?? null, isDone: isDone === true, ...(info !== undefined && { info }) };
  }
}

class Instance implements Session {
  readonly observation: Observation;
  readonly tools = [];
  readonly #server: Server;
  readonly #id: string;
  readonly #calls = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(server: Server, id: string, observation: Observation) {
    this.#server = server;
    this.#id = id;
    this.observation = observation;
  }

  async step(action: Action): Promise<StepResult> {
    const messages = typeof action === 'string' ? { role: 'assistant', content: action } : action;
    try {
      const data = await this.#server.ask('/step', { instanceId: this.#id, messages, signal: this.#calls.signal });
      return this.#server.readStep('/step', data, this.#id);
    } catch (error) {
      throw asLost(error);
    }
  }

  async evaluate(): Promise<Verdict> {
    const { signal } = this.#calls;
    const ask = async (): Promise<Verdict> => {
      const params = this.#server.evaluateParams;
      const data = await this.#server.ask('/evaluate', { instanceId: this.#id, params, signal });
      const given = isJsonObject(data) ? (data['score'] ?? data['reward'] ?? data['accuracy']) : data;
      const reward = typeof given === 'boolean' ? Number(given) : given;
      if (typeof reward !== 'number' || !Number.isFinite(reward)) throw this.#server.unreadable('/evaluate', data);
      return { reward, isSuccess: reward >= 1 };
    };
    return askAgain(ask, { signal, tries: evaluateTries }).catch((error: unknown) => {
      throw asLost(error);
    });
  }

  close(): Promise<void> {
    this.#calls.abort(new EnvironmentError('closed', 'The session was closed.'));
    this.#closing ??= this.#server.release(this.#id);
    return this.#closing;
  }
}

/** Reads a message, a list of messages, or text. */
function readState(state: unknown): Observation | undefined {
  if (typeof state === 'string') return { text: state };
  const messages = (Array.isArray(state) ? state : [state]).map(readMessage);
  const known = messages.filter((message) => message !== undefined);
  if (known.length < messages.length) return undefined;
  return { text: known.map(({ content }) => content).join('\n'), messages: known, data: state };
}

type Message = Task['initMessages'][number];

function readMessage(value: unknown): Message | undefined {
  if (!isJsonObject(value)) return undefined;
  const { role, content = '' } = value;
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return { role: role === 'system' || role === 'assistant' ? role : 'user', content: text };
}

/**
 * Turns the refusal of an unknown instance into an outage, because the server was restarted or has dropped the
 * instance.
 */
function asLost(error: unknown): unknown {
  const isUnknown = error instanceof EnvironmentError && /instance\b.*\bnot found/i.test(error.message);
  return isUnknown ? new EnvironmentOutage(error.message, { cause: error }) : error;
}

function notOpened(taskId: string, error: EnvironmentError): EnvironmentError {
  return new EnvironmentError('not_opened', `The environment refuses task "${taskId}". ${error.message}`, {
    cause: error,
  });
}
