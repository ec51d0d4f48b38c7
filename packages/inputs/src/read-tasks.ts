import { AgentJetError, TaskError, type Task } from '@agentjet/core';
import { withUserFrames } from '@agentjet/rollout/loading';

/**
 * Yields the tasks of one pass. An error of the user's reader becomes a TaskError that shows the line in the user's
 * code.
 */
export async function* readTasks(source: AsyncIterable<Task>): AsyncGenerator<Task> {
  try {
    yield* source;
  } catch (error) {
    throw toReaderError(error);
  }
}

/** Reads one task of a table. It throws the same errors as `readTasks`. */
export async function readTask(read: () => Promise<Task>): Promise<Task> {
  try {
    return await read();
  } catch (error) {
    throw toReaderError(error);
  }
}

function toReaderError(error: unknown): AgentJetError {
  if (error instanceof AgentJetError) return error;
  return new TaskError('reader_failed', withUserFrames('The task reader failed', error), { cause: error });
}
