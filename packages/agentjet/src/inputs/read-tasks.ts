import { AgentJetError, TaskError, toErrorMessage, type Task } from '@agentjet/core';
import { userFrames } from '../user-frames.js';

/** The tasks of one pass. What the user's reader throws becomes a TaskError that shows the user's line. */
export async function* readTasks(source: AsyncIterable<Task>): AsyncGenerator<Task> {
  try {
    yield* source;
  } catch (error) {
    if (error instanceof AgentJetError) throw error;
    const frames = userFrames(error instanceof Error ? error.stack : undefined);
    throw new TaskError('reader_failed', [`The task reader failed: ${toErrorMessage(error)}`, ...frames].join('\n'), { cause: error });
  }
}
