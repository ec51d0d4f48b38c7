import { setMaxListeners } from 'node:events';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { StdioServerParameters } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  EnvironmentError,
  type EnvironmentOutage,
  isJsonObject,
  parseJson,
  toErrorMessage,
  type JsonObject,
  type Task,
  type ToolSpec,
  type Verdict,
} from '@agentjet/core';
import type { Environment, Observation, OpenSessionOptions, Session, ToolResult } from '@agentjet/rollout/inputs';
import { askAgain, closeSignal } from '../http/ask-again.js';
import { ServerOutage } from '../http/post-json.js';
import { repairAddress } from '../http/repair-address.js';
import { readToolResult } from '../read-tool-result.js';
import { checkedFetch, type CheckedFetch } from './checked-fetch.js';
import { checkedStdio, mostLineBytes } from './checked-stdio.js';
import { loadSdk, type McpSdk } from './load-sdk.js';

/**
 * The Model Context Protocol: the server's tools become the agent's tools. Over stdio, each session is a process. Over Streamable HTTP,
 * it is a session of the server. The protocol has neither tasks nor rewards, so two tools of the server may replace them: one gets the
 * task when the session opens, and one scores the episode. Agents see neither tool.
 */

export type McpServer =
  | {
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string | null;
    }
  | { readonly url: string; readonly headers: Readonly<Record<string, string>> };

export type McpOptions = McpServer & {
  /**
   * The tool that opens an episode. It gets the task's id, question and metadata, and its text is the first
   * observation. Null for none.
   */
  readonly openTool: string | null;
  /**
   * The tool that scores an episode. Its text is a number, or JSON with `reward` and optionally `isSuccess`. Null:
   * there is no verdict.
   */
  readonly evaluateTool: string | null;
  /** The tools that agents get. Null: all. */
  readonly tools: readonly string[] | null;
};

const tries = 3;
const evaluateTries = 5;
const closeTries = 8;
const mostPages = 200;
/** Turns off the SDK's time limit, because the session has its own for calls. */
const longestMs = 2 ** 31 - 1;

export function openMcp(options: McpOptions): Environment {
  const live = new Set<string>();
  return {
    name: nameOf(options),
    open: async (task, open) => {
      const sdk = await loadSdk();
      return askAgain(() => openSession(sdk, task, { ...options, ...open, live }), { signal: open.signal, tries });
    },
  };
}

const nameOf = (server: McpServer): string =>
  'url' in server ? new URL(server.url).host : [server.command, ...server.args].join(' ');

type LiveSessions = {
  /** Ids of the open sessions. */
  readonly live: Set<string>;
};

async function openSession(
  sdk: McpSdk,
  task: Task,
  options: McpOptions & OpenSessionOptions & LiveSessions,
): Promise<Session> {
  const { signal, seed, openTool } = options;
  signal.throwIfAborted();
  const connection = new Connection(sdk, options);
  const onAbort = (): void => void connection.close();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await connection.connect();
    const all = await connection.listTools();
    const { taskId, mainQuery, metadata } = task;
    const first =
      openTool === null
        ? { text: '' }
        : await connection.call(openTool, { task_id: taskId, question: mainQuery, seed, metadata });
    if (first.isError === true) throw new EnvironmentError('refused', `${openTool} answered: ${first.text}`);
    return new McpSession(connection, { first, tools: shownTools(all, options), options });
  } catch (error) {
    await connection.close();
    signal.throwIfAborted();
    if (!(error instanceof EnvironmentError)) throw error;
    throw new EnvironmentError('not_opened', `The environment refuses task "${task.taskId}". ${error.message}`, {
      cause: error,
    });
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function shownTools(all: readonly ToolSpec[], { tools, openTool, evaluateTool }: McpOptions): readonly ToolSpec[] {
  const missing = tools?.find((name) => !all.some((tool) => tool.name === name));
  if (missing !== undefined)
    throw new EnvironmentError(
      'refused',
      `The server has no tool "${missing}"; it has ${all.map(({ name }) => name).join(', ') || 'none'}. Repair environment.mcp.tools.`,
    );
  return all.filter(({ name }) => name !== openTool && name !== evaluateTool && (tools?.includes(name) ?? true));
}

type SessionParts = { readonly first: ToolResult; readonly tools: readonly ToolSpec[]; readonly options: McpOptions };

class McpSession implements Session {
  readonly observation: Observation;
  readonly tools: readonly ToolSpec[];
  readonly evaluate?: () => Promise<Verdict>;
  readonly #connection: Connection;

  constructor(connection: Connection, { first, tools, options: { evaluateTool } }: SessionParts) {
    this.#connection = connection;
    this.observation = first;
    this.tools = tools;
    if (evaluateTool !== null) this.evaluate = () => connection.evaluate(evaluateTool);
  }

  call(tool: string, args: JsonObject): Promise<ToolResult> {
    if (!this.tools.some(({ name }) => name === tool)) {
      const names = this.tools.map(({ name }) => name).join(', ') || 'none';
      return Promise.resolve({ text: `There is no tool "${tool}". The tools are: ${names}.`, isError: true });
    }
    return this.#connection.call(tool, args);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

type ListedTools = Awaited<ReturnType<Client['listTools']>>;

class Connection {
  readonly #name: string;
  readonly #server: McpServer & LiveSessions;
  readonly #client: Client;
  readonly #transport: Transport;
  readonly #calls = new AbortController();
  #closing: Promise<void> | undefined;
  readonly #http: CheckedFetch;
  #refused: EnvironmentOutage | undefined;

  constructor(
    { Client: SdkClient, StdioClientTransport, StreamableHTTPClientTransport: Http }: McpSdk,
    server: McpServer & LiveSessions,
  ) {
    this.#name = nameOf(server);
    this.#server = server;
    this.#http = checkedFetch(server.live, this.#refuse);
    setMaxListeners(0, this.#calls.signal); // no warning: the SDK leaves a listener for each call
    this.#client = new SdkClient({ name: 'agentjet', version: '1' });
    this.#transport =
      'url' in server
        ? (new Http(new URL(server.url), {
            requestInit: { headers: { ...server.headers } },
            fetch: this.#http.fetch,
          }) as Transport) // its types conflict with exactOptionalPropertyTypes
        : checkedStdio(new StdioClientTransport(startOf(server)), this.#refuse);
  }

  connect(): Promise<void> {
    return this.#ask(() => this.#client.connect(this.#transport, this.#options));
  }

  #refuse = (error: unknown): void => {
    this.#refused ??= this.#outage(error);
    this.#calls.abort(this.#refused);
  };

  /** Returns the tools of all pages. If a server repeats a page, the list ends there. */
  async listTools(): Promise<readonly ToolSpec[]> {
    const tools: ListedTools['tools'] = [];
    const seen = new Set<string>();
    for (let cursor: string | undefined; ; ) {
      const page = await this.#ask(() => this.#client.listTools(cursor === undefined ? {} : { cursor }, this.#options));
      tools.push(...page.tools);
      cursor = page.nextCursor;
      if (cursor === undefined || seen.has(cursor)) break;
      if (seen.add(cursor).size >= mostPages)
        throw this.#outage(new Error(`its list of tools has more than ${mostPages} pages`));
    }
    return tools.map(({ name, description, inputSchema }) => ({
      name,
      ...(description !== undefined && { description }),
      parameters: inputSchema,
    }));
  }

  async call(name: string, args: JsonObject): Promise<ToolResult> {
    return readToolResult(
      await this.#ask(() => this.#client.callTool({ name, arguments: { ...args } }, undefined, this.#options)),
    );
  }

  evaluate(tool: string): Promise<Verdict> {
    const { signal } = this.#calls;
    const ask = async (): Promise<Verdict> => readVerdict(await this.call(tool, {}), tool);
    return askAgain(ask, { signal, tries: evaluateTries }).catch((error: unknown) => {
      throw this.#refused ?? error;
    });
  }

  close(): Promise<void> {
    this.#calls.abort(new EnvironmentError('closed', 'The session was closed.'));
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const sessionId = this.#http.sessionId();
    if (sessionId !== undefined) {
      const signal = closeSignal();
      const ask = (): Promise<void> => this.#endSession(sessionId, signal);
      await askAgain(ask, { tries: closeTries }).catch(() => undefined);
      this.#server.live.delete(sessionId);
    }
    await this.#client.close().catch(() => undefined);
    await this.#transport.close().catch(() => undefined);
  }

  /**
   * Ends the session with a separate request, because the SDK cannot end a session whose connection has failed. 404 and
   * 405 mean that there is nothing to end.
   */
  async #endSession(sessionId: string, signal: AbortSignal): Promise<void> {
    const server = this.#server;
    if (!('url' in server)) return;
    try {
      const headers = { ...server.headers, 'mcp-session-id': sessionId };
      const { ok, status } = await globalThis.fetch(server.url, {
        method: 'DELETE',
        headers,
        redirect: 'error',
        signal,
      });
      if (!ok && status !== 404 && status !== 405) throw new Error(`DELETE answered ${status}`);
    } catch (error) {
      signal.throwIfAborted();
      if (!isAbsent(error)) throw this.#outage(error);
    }
  }

  get #options(): { readonly signal: AbortSignal; readonly timeout: number } {
    return { signal: this.#calls.signal, timeout: longestMs };
  }

  async #ask<T>(work: () => Promise<T>): Promise<T> {
    this.#calls.signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (this.#refused !== undefined) throw this.#refused;
      throw isRefusal(error)
        ? new EnvironmentError('refused', `${this.#name}: ${toErrorMessage(error)}`)
        : this.#outage(error);
    }
  }

  #outage(error: unknown): EnvironmentOutage {
    const repair = 'url' in this.#server && isAbsent(error) ? `. ${repairAddress('environment.mcp.url')}` : '';
    return new ServerOutage('lost', `The session of ${this.#name} is lost: ${toErrorMessage(error)}${repair}`, {
      host: this.#name,
      cause: error,
    });
  }
}

const startOf = ({ command, args, env, cwd }: Extract<McpServer, { command: string }>): StdioServerParameters => ({
  command,
  args: [...args],
  env: { ...env },
  stderr: 'ignore',
  maxBufferSize: mostLineBytes,
  ...(cwd !== null && { cwd }),
});

/** Error codes of JSON-RPC: invalid request, unknown method, invalid parameters. */
const refusals: ReadonlySet<unknown> = new Set([-32600, -32601, -32602]);

const isRefusal = (error: unknown): boolean => error instanceof Error && 'code' in error && refusals.has(error.code);

const isAbsent = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  return ('code' in error && error.code === 'ECONNREFUSED') || isAbsent(error.cause);
};

function readVerdict({ text, isError }: ToolResult, tool: string): Verdict {
  const value = parseJson(text);
  const { reward, isSuccess, is_success: isSuccessToo } = isJsonObject(value) ? value : { reward: value };
  if (isError === true || typeof reward !== 'number' || !Number.isFinite(reward))
    throw new EnvironmentError(
      'bad_answer',
      `The tool ${tool} gave ${JSON.stringify(text.slice(0, 200))} as a verdict. Let it answer with a number, or with {"reward": 1, "isSuccess": true}.`,
    );
  const success = isSuccess ?? isSuccessToo;
  return { reward, isSuccess: typeof success === 'boolean' ? success : reward >= 1 };
}
