import { AgentJetError, TaskError, type Task } from '@agentjet/core';
import { withUserFrames } from '@agentjet/rollout';

/** The tasks of one pass. What the user's reader throws becomes a TaskError that shows the user's line. */
export async function* readTasks(source: AsyncIterable<Task>): AsyncGenerator<Task> {
  try {
    yield* source;
  } catch (error) {
    if (error instanceof AgentJetError) throw error;
    throw new TaskError('reader_failed', withUserFrames('The task reader failed', error), { cause: error });
  }
}
