import {
  ConfigError,
  EnvironmentError,
  isJsonObject,
  type JsonObject,
  type Task,
  type ToolSpec,
  type Verdict,
} from '@agentjet/core';
import type {
  Action,
  Environment,
  Observation,
  OpenSessionOptions,
  Session,
  StepResult,
  ToolResult,
} from '@agentjet/rollout/inputs';
import { askAgain, listSignal } from '../http/ask-again.js';
import { hostOf, postJson, ServerOutage, type ServerAddress } from '../http/post-json.js';
import { readToolResult } from '../read-tool-result.js';
import { SocketSession } from './socket-session.js';

/**
 * OpenEnv: a WebSocket per session with `reset`, `step` and `close`. Plain HTTP is used only for the list of tasks, because it keeps no
 * session. A task's metadata is sent with `reset`, together with `seed` and `episode_id`.
 */

const addressKey = 'environment.openenv.url';

export type OpenenvOptions = ServerAddress & {
  /** The server's name for the environment, for its list of tasks. Null: it has no list. */
  readonly envType: string | null;
  /** Field of an action for the agent's text. */
  readonly actionField: string;
  /** Field of an observation that the agent sees. Null: the whole observation, as JSON. */
  readonly textField: string | null;
  /** How the rewards of the steps become the verdict. */
  readonly verdict: 'sum' | 'last';
  /** How an episode counts if neither it nor an earlier one got any reward: as an error, or as a reward of 0. */
  readonly unrewarded?: 'error' | 'zero';
  /** Whether the server is asked for tools. */
  readonly tools: boolean;
  /** Time limit of one attempt to list tasks. Default: one minute. */
  readonly listTimeoutMs?: number;
};

const tries = 3;

export function openOpenenv(options: OpenenvOptions): Environment {
  const http = { ...options, url: options.url.replace(/^ws/, 'http') };
  const { envType, unrewarded } = options;
  const server = { rewards: unrewarded === 'zero' };
  return {
    name: hostOf(http),
    ...(envType !== null && { tasks: (split: string) => listTasks({ ...http, envType }, split) }),
    open: (task, open) =>
      askAgain(() => openSession(task, { ...options, ...open, server }), { signal: open.signal, tries }),
  };
}

type ListAddress = ServerAddress & Pick<OpenenvOptions, 'listTimeoutMs'> & { readonly envType: string };

async function* listTasks(address: ListAddress, split: string): AsyncGenerator<Task> {
  const route = `/${encodeURIComponent(address.envType)}/tasks`;
  const ask = (): Promise<unknown> => {
    const signal = listSignal(hostOf(address), address.listTimeoutMs);
    return postJson({ addressKey, ...address }, route, { body: { split }, signal });
  };
  const answer = await askAgain(ask, { tries });
  const listed = isJsonObject(answer) ? answer['tasks'] : undefined;
  if (!Array.isArray(listed))
    throw new ServerOutage('lost', `POST ${route} did not answer with a list of tasks.`, { host: hostOf(address) });
  for (const [index, spec] of listed.entries()) yield toTask(spec, { split, index });
}

function toTask(spec: unknown, place: { readonly split: string; readonly index: number }): Task {
  const fields = isJsonObject(spec) ? spec : { task: spec };
  const { id, task_id: taskId = id } = fields;
  const known = typeof taskId === 'string' || typeof taskId === 'number' ? String(taskId) : undefined;
  return {
    taskId: known ?? `${place.split}-${place.index}`,
    mainQuery: '',
    initMessages: [],
    metadata: { ...fields, ...place },
  };
}

type SessionOptions = OpenenvOptions & {
  /** Whether the server is known to give rewards. If it is, a session without a reward has earned 0. */
  readonly server: { rewards: boolean };
};

async function openSession(task: Task, options: SessionOptions & OpenSessionOptions): Promise<Session> {
  const { url, headers = {}, signal, seed, episodeId } = options;
  const socket = await SocketSession.connect(`${url.replace(/^http/, 'ws')}/ws`, { headers, signal, addressKey });
  const onAbort = (): void => void socket.close();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const reset = { seed, ...task.metadata, episode_id: episodeId };
    const result = readResult(await socket.ask('reset', reset, 'observation'), options);
    const tools = options.tools ? await listTools(socket) : [];
    await socket.settle();
    return new OpenenvSession(socket, { first: result, tools, options });
  } catch (error) {
    await socket.close();
    signal.throwIfAborted();
    throw error instanceof EnvironmentError && error.code === 'refused' ? notOpened(task, error) : error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function notOpened({ taskId }: Task, cause: EnvironmentError): EnvironmentError {
  return new EnvironmentError('not_opened', `The environment refuses task "${taskId}". ${cause.message}`, { cause });
}

type SessionParts = {
  readonly first: StepResult;
  readonly tools: readonly ToolSpec[];
  readonly options: SessionOptions;
};

class OpenenvSession implements Session {
  readonly observation: Observation;
  readonly tools: readonly ToolSpec[];
  readonly call?: NonNullable<Session['call']>;
  readonly #socket: SocketSession;
  readonly #options: SessionOptions;
  #sum = 0;
  #last = 0;
  #numCalls = 1;
  #hasActed = false;

  constructor(socket: SocketSession, { first, tools, options }: SessionParts) {
    this.#socket = socket;
    this.#options = options;
    this.observation = first.observation;
    this.tools = tools;
    if (options.tools) this.call = (tool, args) => this.#call(tool, args);
  }

  async step(action: Action): Promise<StepResult> {
    this.#hasActed = true;
    const data = typeof action === 'string' ? { [this.#options.actionField]: action } : action;
    const result = readResult(await this.#socket.ask('step', data, 'observation'), this.#options);
    this.#last = result.reward ?? this.#last;
    this.#sum += result.reward ?? 0;
    if (result.reward !== null) this.#options.server.rewards = true;
    return result;
  }

  async #call(tool: string, args: JsonObject): Promise<ToolResult> {
    this.#hasActed = true;
    const { result, error } = await askRpc(this.#socket, ++this.#numCalls, {
      method: 'tools/call',
      params: { name: tool, arguments: args },
    });
    if (isJsonObject(error)) return { text: wordsOf(error), data: error, isError: true };
    return readToolResult(result);
  }

  /** Makes the verdict from the rewards of the steps, because the protocol has no verdict. */
  async evaluate(): Promise<Verdict> {
    await this.#socket.settle();
    if (this.#hasActed && !this.#options.server.rewards) throw noRewards(this.#options);
    const reward = this.#options.verdict === 'sum' ? this.#sum : this.#last;
    return { reward, isSuccess: reward >= 1 };
  }

  close(): Promise<void> {
    return this.#socket.close();
  }
}

function noRewards({ url }: OpenenvOptions): ConfigError {
  return new ConfigError(
    'no_verdict',
    `${hostOf({ url })} gave no reward, neither in this episode nor before. If it rewards only some episodes, set environment.openenv.unrewarded=zero; if it never does, choose a judge other than environment.`,
  );
}

function askRpc(socket: SocketSession, id: number, call: JsonObject): Promise<JsonObject> {
  return socket.ask('mcp', { jsonrpc: '2.0', id, ...call }, 'mcp');
}

async function listTools(socket: SocketSession): Promise<readonly ToolSpec[]> {
  const { result } = await askRpc(socket, 1, { method: 'tools/list', params: {} });
  const tools = isJsonObject(result) && Array.isArray(result['tools']) ? result['tools'] : [];
  return tools.filter(isJsonObject).map(({ name, description, inputSchema, input_schema }) => ({
    name: String(name),
    ...(typeof description === 'string' && { description }),
    parameters: [inputSchema, input_schema].find(isJsonObject) ?? { type: 'object', properties: {} },
  }));
}

function readResult(data: JsonObject, { textField, url }: OpenenvOptions): StepResult {
  const { observation, reward = null, done } = data;
  const value = typeof reward === 'boolean' ? Number(reward) : reward;
  if (value !== null && typeof value !== 'number')
    throw new ServerOutage('lost', `The reward of a step is ${JSON.stringify(reward)}.`, { host: hostOf({ url }) });
  return {
    observation: readObservation(observation, textField),
    reward: value,
    isDone: done === true,
    ...(data['metadata'] !== undefined && { info: data['metadata'] }),
  };
}

function readObservation(observation: unknown, textField: string | null): Observation {
  if (!isJsonObject(observation)) return { text: toText(observation), data: observation };
  if (textField === null) {
    const { metadata: _, ...shown } = observation;
    return { text: JSON.stringify(shown), data: observation };
  }
  const value = observation[textField];
  if (value !== undefined) return { text: toText(value), data: observation };
  throw new EnvironmentError(
    'bad_answer',
    `The observation has no field "${textField}"; it has ${Object.keys(observation).join(', ') || 'none'}. Set environment.openenv.text_field to one of them, or to null.`,
  );
}

const wordsOf = ({ message }: JsonObject): string => (typeof message === 'string' ? message : 'error');

const toText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
