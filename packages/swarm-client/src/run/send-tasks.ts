import { WireError, type TasksAnswer, type TasksRequest } from '@agentjet/swarm-wire';
import type { TableOptions, TaskBook } from './task-book.js';

/**
 * Sends a list of tasks in parts. The server keeps the parts in memory, so a restarted server asks for all of them
 * again.
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

/**
 * The maximum number of times that a list is sent. The server may forget it if other programs send lists at the same
 * time.
 */
const mostTries = 10;

async function sendAll(
  parts: Iterable<TasksRequest>,
  send: (part: TasksRequest) => Promise<TasksAnswer>,
): Promise<TasksAnswer> {
  let sum: TasksAnswer = { added: 0, known: 0, total: 0 };
  for (const part of parts) sum = await send(part);
  return sum;
}
