import { TaskError, type Task, sha256 } from '@agentjet/core';
import { checkTask, type TaskInput } from '@agentjet/rollout';
import type { TasksRequest, WireTask } from '@agentjet/swarm-wire';

type Row = TasksRequest['tasks'][number];

/**
 * The tasks that a client brings. They are sent to the server once, and looked up when one of their episodes is
 * claimed.
 */
export class TaskBook {
  readonly #tasks = new Map<string, Task>();
  readonly #hashes = new Map<string, string>();

  /** Throws TaskError for a task that cannot be used, and for a repeated id. */
  static async read(source: AsyncIterable<TaskInput> | Iterable<TaskInput>): Promise<TaskBook> {
    const book = new TaskBook();
    for await (const input of source) {
      const task = checkTask(input, `task ${book.size + 1}`);
      if (book.#tasks.has(task.taskId)) {
        throw new TaskError(
          'duplicate_task_id',
          `Task id "${task.taskId}" of task ${book.size + 1} is used by an earlier task. Give each task its own id.`,
        );
      }
      book.#tasks.set(task.taskId, task);
    }
    return book;
  }

  get size(): number {
    return this.#tasks.size;
  }

  /**
   * Returns the client's own task, or the content that the server has. Undefined if neither exists. If the tasks of the
   * run were replaced, `hash` identifies the version that the episode has. The client's task may be another version.
   */
  find(taskId: string, known: WireTask | undefined, hash?: string): Task | undefined {
    const own = this.#tasks.get(taskId);
    const isOther = own !== undefined && hash !== undefined && this.#hashOf(own) !== hash;
    return (isOther ? undefined : own) ?? (known === undefined ? undefined : fromWire(known));
  }

  #hashOf(task: Task): string {
    const hash = this.#hashes.get(task.taskId) ?? sha256(toCanonicalJson(toWire(task)));
    this.#hashes.set(task.taskId, hash);
    return hash;
  }

  /** Returns a name for the whole list. Each part is sent with this name. */
  get #list(): string {
    const rows = [...this.#tasks.values()].map((task) => [task.taskId, this.#hashOf(task)]);
    return sha256(JSON.stringify(rows));
  }

  /** Splits the table into parts that fit in one request. Content is left out if it must stay at the client. */
  *parts({ isPortable, ...of }: TableOptions): Generator<TasksRequest> {
    const table = { ...of, list: this.#list };
    let rows: Row[] = [];
    let numBytes = 0;
    let index = 0;
    for (const task of this.#tasks.values()) {
      const content = toWire(task);
      const json = toCanonicalJson(content);
      const row = { task_id: task.taskId, index, hash: sha256(json), ...(isPortable && { task: content }) };
      const size = isPortable ? json.length + task.taskId.length + 200 : 300;
      if (rows.length === maxRows || (rows.length > 0 && numBytes + size > maxBytes)) {
        yield { tasks: rows, ...table };
        rows = [];
        numBytes = 0;
      }
      rows.push(row);
      numBytes += size;
      index++;
    }
    if (rows.length > 0) yield { tasks: rows, total: this.size, ...table };
  }
}

/** The kind of the tasks, and whether their content is sent. */
export type TableOptions = Pick<TasksRequest, 'share' | 'split' | 'again'> & { readonly isPortable: boolean };

const maxRows = 1000;
/** The maximum number of characters in a request. The server reads up to 8 MiB. */
const maxBytes = 2 ** 21;

function toWire({ taskId, mainQuery, initMessages, metadata }: Task): WireTask {
  return { task_id: taskId, main_query: mainQuery, init_messages: [...initMessages], metadata: { ...metadata } };
}

function fromWire({ task_id, main_query, init_messages, metadata }: WireTask): Task {
  return { taskId: task_id, mainQuery: main_query, initMessages: init_messages, metadata };
}

/** Prints JSON with sorted keys, so clients in all languages agree on the hash of a task. */
function toCanonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
