import { setMaxListeners } from 'node:events';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  EnvironmentError,
  type EnvironmentOutage,
  toErrorMessage,
  type JsonObject,
  type ToolSpec,
} from '@agentjet/core';
import type { ToolResult } from '@agentjet/rollout/inputs';
import { askAgain, closeSignal } from '../http/ask-again.js';
import { ServerOutage } from '../http/post-json.js';
import { repairAddress } from '../http/repair-address.js';
import { readToolResult } from '../read-tool-result.js';
import { checkedFetch, type CheckedFetch } from './checked-fetch.js';
import type { McpSdk } from './load-sdk.js';
import { createTransport, type McpServer } from './transports.js';

export type { McpServer } from './transports.js';

const closeTries = 8;
const mostPages = 200;
/** Turns off the SDK's time limit, because the session has its own for calls. */
const longestMs = 2 ** 31 - 1;

/** Returns the name of a server in messages. */
export function nameOf(server: McpServer): string {
  if (server.name !== undefined) return server.name;
  return 'url' in server ? new URL(server.url).host : [server.command, ...server.args].join(' ');
}

export type LiveSessions = {
  /** Ids of the open sessions. */
  readonly live: Set<string>;
};

type ListedTools = Awaited<ReturnType<Client['listTools']>>;

/** One session of a server. */
export class Connection {
  readonly #name: string;
  readonly #server: McpServer & LiveSessions;
  readonly #client: Client;
  readonly #transport: Transport;
  readonly #calls = new AbortController();
  #closing: Promise<void> | undefined;
  readonly #http: CheckedFetch;
  #refused: EnvironmentOutage | undefined;

  constructor(sdk: McpSdk, server: McpServer & LiveSessions) {
    this.#name = nameOf(server);
    this.#server = server;
    this.#http = checkedFetch(server.live, this.#refuse, 'url' in server ? server.fetch : undefined);
    setMaxListeners(0, this.#calls.signal); // no warning: the SDK leaves a listener for each call
    this.#client = new sdk.Client({ name: 'agentjet', version: '1' });
    this.#transport = createTransport(sdk, server, { fetch: this.#http.fetch, onRefused: this.#refuse });
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

  /** Rejects with the reason of `signal` if it aborts. The session stays usable then. */
  async call(name: string, args: JsonObject, signal?: AbortSignal): Promise<ToolResult> {
    const { timeout, signal: own } = this.#options;
    const options = { timeout, signal: signal === undefined ? own : AbortSignal.any([own, signal]) };
    const work = (): Promise<unknown> => this.#client.callTool({ name, arguments: { ...args } }, undefined, options);
    return readToolResult(await this.#ask(work, signal));
  }

  /** Repeats a call after outages, as long as the session is open. */
  askAgain<T>(ask: () => Promise<T>, tries: number): Promise<T> {
    return askAgain(ask, { signal: this.#calls.signal, tries }).catch((error: unknown) => {
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
      const { ok, status } = await (server.fetch ?? globalThis.fetch)(server.url, {
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

  async #ask<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    this.#calls.signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      signal?.throwIfAborted();
      if (this.#refused !== undefined) throw this.#refused;
      throw isRefusal(error)
        ? new EnvironmentError('refused', `${this.#name}: ${toErrorMessage(error)}`)
        : this.#outage(error);
    }
  }

  #outage(error: unknown): EnvironmentOutage {
    const isOurs = 'url' in this.#server && this.#server.name === undefined;
    const repair = isOurs && isAbsent(error) ? `. ${repairAddress('environment.mcp.url')}` : '';
    return new ServerOutage('lost', `The session of ${this.#name} is lost: ${toErrorMessage(error)}${repair}`, {
      host: this.#name,
      cause: error,
    });
  }
}

/** Error codes of JSON-RPC: invalid request, unknown method, invalid parameters. */
const refusals: ReadonlySet<unknown> = new Set([-32600, -32601, -32602]);

const isRefusal = (error: unknown): boolean => error instanceof Error && 'code' in error && refusals.has(error.code);

const isAbsent = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  return ('code' in error && error.code === 'ECONNREFUSED') || isAbsent(error.cause);
};
