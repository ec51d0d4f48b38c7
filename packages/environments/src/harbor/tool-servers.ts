import { setTimeout as sleep } from 'node:timers/promises';
import { EnvironmentError, EnvironmentOutage, type ToolSpec } from '@agentjet/core';
import type { ToolResult, ToolServer } from '@agentjet/rollout/inputs';
import { MiddleCut } from '@agentjet/sandbox/boxes';
import { Connection } from '../mcp/connection.js';
import { fetchOver, type Dial } from '../mcp/fetch-over.js';
import { loadSdk, type McpSdk } from '../mcp/load-sdk.js';
import type { McpServer } from '../mcp/transports.js';
import type { AgentPlace } from './tools.js';

/**
 * The tool servers of a task, for an agent outside of its machine. A server over stdio is a program in the box. Other
 * servers are reached with the network of the box. The tool `read` of the server `notes` is `mcp__notes__read`.
 */

export type ToolServersPlace = AgentPlace & {
  /** Connects with the network of the agent. */
  readonly dial: Dial;
  /** The host of outages. */
  readonly host: string;
  /** The longest time in which a server answers and lists its tools. Default: `toolServerSeconds`. */
  readonly answerSeconds?: number;
};

export type ToolLimits = { readonly seconds: number; readonly outputCharacters: number };

/** The longest time in which a server answers and lists its tools. */
export const toolServerSeconds = 60;
const pauseMs = 500;

type Opened = { readonly connection: Connection; readonly specs: readonly ToolSpec[] };
type Tool = { readonly server: ToolServer; readonly name: string };

export class ToolServers {
  readonly #servers: readonly ToolServer[];
  readonly #place: ToolServersPlace;
  readonly #live = new Set<string>();
  readonly #open = new Map<string, Promise<Opened>>();
  readonly #tools = new Map<string, Tool>();
  #specs: readonly ToolSpec[] = [];

  constructor(servers: readonly ToolServer[], place: ToolServersPlace) {
    this.#servers = servers;
    this.#place = place;
  }

  get #answerSeconds(): number {
    return this.#place.answerSeconds ?? toolServerSeconds;
  }

  get tools(): readonly ToolSpec[] {
    return this.#specs;
  }

  has(tool: string): boolean {
    return this.#tools.has(tool);
  }

  /** Starts all servers and lists their tools. Throws EnvironmentOutage if one of them does not answer. */
  async begin(): Promise<void> {
    const listed = await Promise.all(
      this.#servers.map(async (server) => ({ server, specs: (await this.#connect(server)).specs })),
    );
    const specs: ToolSpec[] = [];
    for (const { server, specs: own } of listed)
      for (const spec of own) {
        const name = toolName(server.name, spec.name);
        if (this.#tools.has(name)) throw twice(name);
        this.#tools.set(name, { server, name: spec.name });
        specs.push({ ...spec, name });
      }
    this.#specs = specs;
  }

  /** Calls a tool. A server that was closed is started again. */
  async call(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    { seconds, outputCharacters }: ToolLimits,
  ): Promise<ToolResult> {
    const found = this.#tools.get(tool);
    if (found === undefined) throw new EnvironmentError('refused', `There is no tool "${tool}".`);
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error('too late')), seconds * 1000);
    try {
      const { connection } = await this.#connect(found.server);
      const result = await connection.call(found.name, args, late.signal);
      return { ...result, text: cut(result.text, outputCharacters) };
    } catch (error) {
      if (!late.signal.aborted) throw error;
      return { text: `[The call was ended after ${seconds} s.]`, isError: true };
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends all servers that this object started, and all connections. */
  async close(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(open.map((each) => each.then(({ connection }) => connection.close()).catch(() => undefined)));
  }

  #connect(server: ToolServer): Promise<Opened> {
    const known = this.#open.get(server.name);
    if (known !== undefined) return known;
    const made = loadSdk().then((sdk) =>
      this.#connectUntil(sdk, server, performance.now() + this.#answerSeconds * 1000),
    );
    this.#open.set(server.name, made);
    made.catch(() => this.#open.delete(server.name));
    return made;
  }

  /** Tries again if a server with an address does not listen yet. A program that ends is not started again. */
  async #connectUntil(sdk: McpSdk, server: ToolServer, late: number): Promise<Opened> {
    const { host, signal } = this.#place;
    const connection = new Connection(sdk, { ...this.#describe(server), live: this.#live });
    const silent = new EnvironmentOutage(
      `The tool server ${server.name} of ${host} gave no answer in ${this.#answerSeconds} s.`,
      { host },
    );
    const timer = new AbortController();
    const clock = sleep(Math.max(0, late - performance.now()), undefined, { signal: timer.signal }).then((): never => {
      throw silent;
    });
    clock.catch(() => undefined);
    try {
      const listed = connection.connect().then(() => connection.listTools());
      return { connection, specs: await Promise.race([listed, clock]) };
    } catch (error) {
      await connection.close();
      const isLate = performance.now() + pauseMs >= late;
      if (!(error instanceof EnvironmentOutage) || server.transport === 'stdio' || isLate) throw error;
      await sleep(pauseMs, undefined, { signal });
      return this.#connectUntil(sdk, server, late);
    } finally {
      timer.abort();
    }
  }

  #describe(server: ToolServer): McpServer {
    const { box, user, workdir, env, dial, host } = this.#place;
    const name = `tool server ${server.name} of ${host}`;
    if (server.transport === 'stdio') {
      const command = [server.command, ...server.args];
      return { name, start: () => box.talk(command, { user, cwd: workdir, env }) };
    }
    const { url, headers, transport } = server;
    return { name, url, headers, fetch: fetchOver(dial), isSse: transport === 'sse' };
  }
}

/** Agents such as Claude Code use the same names. Models take letters, digits, `_` and `-`. */
const toolName = (server: string, tool: string): string => `mcp__${plain(server)}__${plain(tool)}`;
const plain = (name: string): string => name.replace(/[^A-Za-z0-9_-]/g, '_');

function cut(text: string, most: number): string {
  const kept = new MiddleCut(most);
  kept.add(text);
  return kept.text();
}

const twice = (name: string): EnvironmentError =>
  new EnvironmentError('not_opened', `Two tools of the task have the name ${name}. Rename a server in task.toml.`);
