import { AgentJetError, TaskError, type Task } from '@agentjet/core';
import { withUserFrames } from '@agentjet/rollout/loading';

/** The tasks of one pass. What the user's reader throws becomes a TaskError that shows the user's line. */
export async function* readTasks(source: AsyncIterable<Task>): AsyncGenerator<Task> {
  try {
    yield* source;
  } catch (error) {
    throw toReaderError(error);
  }
}

/** One task of a table; errors as above. */
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
