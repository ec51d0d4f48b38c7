import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, toErrorMessage, type JsonObject, type Task } from '@agentjet/core';
import { collectTasks } from '@agentjet/inputs';
import { shortenMetadata, shortenQuery } from '@agentjet/records';
import type { TaskReader } from '@agentjet/rollout';
import type { RecordedEpisode } from '@agentjet/run-folder';

/** The tasks of recorded episodes. A record shortens long tasks; these are read from their source again. */
export class RecordedTasks {
  readonly #openReader: () => Promise<TaskReader>;
  #known: Promise<ReadonlyMap<string, Task> | string> | undefined;

  constructor(openReader: () => Promise<TaskReader>) {
    this.#openReader = openReader;
  }

  /** Returns the task, or the reason why it is not known as it was. */
  async taskOf(record: RecordedEpisode): Promise<Task | string> {
    const recorded = toTask(record);
    if (!isShortened(recorded)) return recorded;
    const known = await (this.#known ??= this.#read());
    if (typeof known === 'string') return `the record has only a part of its long task, and ${known}`;
    const task = known.get(recorded.taskId);
    if (task === undefined) return 'the record has only a part of its long task, and the task reader has no such task';
    const isSame =
      shortenQuery(task.mainQuery) === recorded.mainQuery &&
      isDeepStrictEqual(shortenMetadata(task.metadata) ?? {}, recorded.metadata);
    return isSame ? task : 'the record has only a part of its long task, which has changed since';
  }

  async #read(): Promise<ReadonlyMap<string, Task> | string> {
    try {
      const reader = await this.#openReader();
      const splits = [reader.trainingTasks(), reader.evaluationTasks()].map((split) => collectTasks(split, 1));
      return new Map((await Promise.all(splits)).flat().map((task) => [task.taskId, task]));
    } catch (error) {
      return `the tasks cannot be read: ${toErrorMessage(error)}`;
    }
  }
}

function toTask(record: RecordedEpisode): Task {
  const { task_id: taskId, main_query: mainQuery = '', task_metadata: metadata = {} } = record;
  return {
    taskId: String(taskId),
    mainQuery: String(mainQuery),
    initMessages: [],
    metadata: isJsonObject(metadata) ? (metadata as JsonObject) : {},
  };
}

/** A record that leaves out values is nearly as long as a record may be. */
const nearlyFull = 3400;

function isShortened({ mainQuery, metadata }: Task): boolean {
  const isCut = (text: unknown): boolean => typeof text === 'string' && /\.\.\. \(\d+ characters\)$/.test(text);
  return isCut(mainQuery) || Object.values(metadata).some(isCut) || JSON.stringify(metadata).length > nearlyFull;
}
