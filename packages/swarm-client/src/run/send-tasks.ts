import { WireError, type TasksAnswer, type TasksRequest } from '@agentjet/swarm-wire';
import type { TableOptions, TaskBook } from './task-book.js';

/**
 * Sends a list of tasks in parts. The server keeps parts in memory, so it asks for all of them again if it was started
 * again meanwhile.
 */
export async function sendTasks(
  book: TaskBook,
  table: TableOptions,
  send: (part: TasksRequest) => Promise<TasksAnswer>,
): Promise<TasksAnswer> {
  for (let tries = 1; ; tries++) {
    try {
      return await sendAll(book.parts(table), send);
    } catch (error) {
      const isLost = error instanceof WireError && error.code === 'tasks_missing' && tries < mostTries;
      if (!isLost) throw error;
    }
  }
}

/** Other programs may send lists at the same time, and the server then forgets the oldest one. */
const mostTries = 10;

async function sendAll(
  parts: Iterable<TasksRequest>,
  send: (part: TasksRequest) => Promise<TasksAnswer>,
): Promise<TasksAnswer> {
  let sum: TasksAnswer = { added: 0, known: 0, total: 0 };
  for (const part of parts) sum = await send(part);
  return sum;
}
