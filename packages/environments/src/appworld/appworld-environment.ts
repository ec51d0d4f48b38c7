import { readFile } from 'node:fs/promises';
import path from 'node:path';
import {
  EnvironmentError,
  EnvironmentOutage,
  isJsonObject,
  TaskError,
  toErrorMessage,
  type JsonObject,
  type Task,
  type Verdict,
} from '@agentjet/core';
import type {
  Action,
  Environment,
  Observation,
  OpenSessionOptions,
  Session,
  StepResult,
} from '@agentjet/rollout/inputs';
import { askAgain, closeSignal } from '../http/ask-again.js';
import { hostOf, postJson, ServerOutage } from '../http/post-json.js';
import { AddressPool } from './address-pool.js';

/**
 * AppWorld's environment server: POST /initialize, /execute, /task_completed, /evaluate and /close. A server process has only one world, so
 * there is a pool of addresses, each with one episode at a time. An action is Python code.
 */

export type AppworldOptions = {
  /** The addresses, one server each. */
  readonly urls: readonly string[];
  /** A folder with `<split>.txt`, which has a task id per line. Null: tasks come from elsewhere. */
  readonly datasets: string | null;
  /** Name of the folder for the server's outputs. */
  readonly experimentName: string;
  /** Maximum number of code blocks that an agent may run. Null: the server's own limit. */
  readonly maxInteractions: number | null;
};

const openTries = 3;
const evaluateTries = 5;
const closeTries = 8;
/** The number of attempts to close a world that may never have existed. It is low, because the server cannot report that. */
const dropTries = 2;

export function openAppworld(options: AppworldOptions): Environment {
  const pool = new AddressPool(options.urls);
  const { datasets } = options;
  return {
    name: options.urls.map((url) => hostOf({ url })).join(', '),
    ...(datasets !== null && { tasks: (split: string) => readTaskIds(path.join(datasets, `${split}.txt`)) }),
    open: (task, open) =>
      askAgain(() => openWorld(task, { ...options, ...open, pool }), { signal: open.signal, tries: openTries }),
  };
}

async function* readTaskIds(file: string): AsyncGenerator<Task> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new TaskError(
      'missing_file',
      `The task ids cannot be read: ${toErrorMessage(error)}. Set environment.appworld.datasets.`,
    );
  });
  const ids = text.split(/\r?\n/).map((line) => line.trim());
  for (const taskId of ids) if (taskId !== '') yield { taskId, mainQuery: '', initMessages: [], metadata: {} };
}

type OpenOptions = AppworldOptions & OpenSessionOptions & { readonly pool: AddressPool };

async function openWorld({ taskId }: Task, options: OpenOptions): Promise<Session> {
  const { pool, signal, experimentName, maxInteractions } = options;
  const url = await pool.take(signal);
  const world = new World({ url, taskId, onClosed: () => pool.give(url) });
  try {
    const body = {
      experiment_name: experimentName,
      ...(maxInteractions !== null && { max_interactions: maxInteractions }),
    };
    await world.begin(body, signal);
    return world;
  } catch (error) {
    await world.close();
    throw error instanceof EnvironmentError
      ? new EnvironmentError('not_opened', `AppWorld refuses task "${taskId}". ${error.message}`, { cause: error })
      : error;
  }
}

type WorldOptions = { readonly url: string; readonly taskId: string; readonly onClosed: () => void };

class World implements Session {
  readonly tools = [];
  observation: Observation = { text: '' };
  readonly #options: WorldOptions;
  readonly #calls = new AbortController();
  #isAbsent = false;
  #hasBegun = false;
  #closing: Promise<void> | undefined;

  constructor(options: WorldOptions) {
    this.#options = options;
  }

  async begin(body: JsonObject, signal: AbortSignal): Promise<void> {
    const output = await this.#ask('/initialize', body, signal);
    if (!isJsonObject(output) || typeof output['instruction'] !== 'string')
      throw this.#unreadable('/initialize', output);
    const { task_id: named = this.#options.taskId } = output;
    if (named !== this.#options.taskId) throw this.#unreadable('/initialize', { task_id: named });
    this.#hasBegun = true;
    this.observation = {
      text: output['instruction'],
      messages: [{ role: 'user', content: output['instruction'] }],
      data: output,
    };
  }

  async step(action: Action): Promise<StepResult> {
    const code = typeof action === 'string' ? action : action['code'];
    if (typeof code !== 'string')
      throw new EnvironmentError(
        'refused',
        `An action of AppWorld is Python code, as a string or as { code }; it is ${JSON.stringify(action)}.`,
      );
    const output = await this.#ask('/execute', { code });
    if (typeof output !== 'string') throw this.#unreadable('/execute', output);
    const { signal } = this.#calls;
    const isDone = await askAgain(() => this.#ask('/task_completed', {}), { signal, tries: evaluateTries });
    return { observation: { text: output }, reward: null, isDone: isDone === true };
  }

  /** Returns the share of the task's tests that pass. If all pass, the episode is a success. */
  async evaluate(): Promise<Verdict> {
    const { signal } = this.#calls;
    const output = await askAgain(() => this.#ask('/evaluate', { suppress_errors: true }), {
      signal,
      tries: evaluateTries,
    });
    const { success, passes, num_tests: total } = isJsonObject(output) ? output : {};
    if (typeof success !== 'boolean') throw this.#unreadable('/evaluate', output);
    const share =
      Array.isArray(passes) && typeof total === 'number' && total > 0 ? passes.length / total : Number(success);
    return { reward: share, isSuccess: success, parts: { tests_passed: share } };
  }

  close(): Promise<void> {
    this.#calls.abort(new EnvironmentError('closed', 'The session was closed.'));
    this.#closing ??= this.#close().finally(this.#options.onClosed);
    return this.#closing;
  }

  /**
   * Closes the world. The server handles one request at a time, so it has handled all earlier requests when it answers.
   */
  async #close(): Promise<void> {
    if (this.#isAbsent) return;
    const signal = closeSignal();
    const ask = async (): Promise<void> => {
      try {
        await this.#ask('/close', {}, signal);
      } catch (error) {
        if (error instanceof EnvironmentOutage && !(error instanceof ServerOutage && error.kind === 'absent'))
          throw error;
      }
    };
    await askAgain(ask, { tries: this.#hasBegun ? closeTries : dropTries }).catch(() => undefined);
  }

  async #ask(route: string, body: JsonObject, signal = this.#calls.signal): Promise<unknown> {
    const { url, taskId } = this.#options;
    try {
      const answer = await postJson({ url, addressKey: 'environment.appworld.urls' }, route, {
        body: { task_id: taskId, ...body },
        signal,
      });
      if (isJsonObject(answer) && 'output' in answer) return answer['output'];
      throw this.#unreadable(route, answer);
    } catch (error) {
      this.#isAbsent = error instanceof ServerOutage && error.kind === 'absent';
      throw error;
    }
  }

  #unreadable(route: string, answer: unknown): EnvironmentOutage {
    const host = hostOf({ url: this.#options.url });
    const seen = JSON.stringify(answer)?.slice(0, 200);
    return new ServerOutage(
      'lost',
      `POST ${route} at ${host} gave an answer that does not match the protocol: ${seen}`,
      {
        host,
      },
    );
  }
}
