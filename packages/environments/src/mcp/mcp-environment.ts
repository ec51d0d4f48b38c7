import {
  EnvironmentError,
  isJsonObject,
  parseJson,
  type JsonObject,
  type Task,
  type ToolSpec,
  type Verdict,
} from '@agentjet/core';
import type { Environment, Observation, OpenSessionOptions, Session, ToolResult } from '@agentjet/rollout/inputs';
import { askAgain } from '../http/ask-again.js';
import { Connection, nameOf, type LiveSessions, type McpServer } from './connection.js';
import { loadSdk, type McpSdk } from './load-sdk.js';

/**
 * The Model Context Protocol: the server's tools become the agent's tools. Over stdio, each session is a process. Over Streamable HTTP,
 * it is a session of the server. The protocol has neither tasks nor rewards, so two tools of the server may replace them: one gets the
 * task when the session opens, and one scores the episode. Agents see neither tool.
 */

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
    if (evaluateTool !== null) this.evaluate = () => evaluate(connection, evaluateTool);
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

function evaluate(connection: Connection, tool: string): Promise<Verdict> {
  const ask = async (): Promise<Verdict> => readVerdict(await connection.call(tool, {}), tool);
  return connection.askAgain(ask, evaluateTries);
}

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
