import { ConfigError } from '@agentjet/core';
import { createTaskReader, type TaskReader } from '../../tasks/task-reader.js';
import { withUserFrames } from '../../user-frames.js';

function isTaskReader(value: unknown): value is TaskReader {
  const has = (name: string): boolean =>
    typeof value === 'object' && value !== null && typeof Reflect.get(value, name) === 'function';
  return has('trainingTasks') && has('evaluationTasks');
}

/** Constructs a class, and turns a plain generator function into a reader of training tasks. */
function fromFunction(reader: Function, where: string): unknown {
  if (/^(Async)?GeneratorFunction$/.test(reader.constructor.name))
    return createTaskReader({ training: () => reader() });
  try {
    return Reflect.construct(reader, []);
  } catch (error) {
    throw new ConfigError('bad_reader', withUserFrames(`${where} threw while it was constructed`, error), {
      cause: error,
    });
  }
}

/**
 * Creates a reader from the export of a user's module: an object, a class or a generator function. Throws ConfigError
 * `bad_reader`.
 */
export function createReader(exported: unknown, where: string): TaskReader {
  const made: unknown = typeof exported === 'function' ? fromFunction(exported, where) : exported;
  if (isTaskReader(made)) return made;
  throw new ConfigError(
    'bad_reader',
    `${where} is not a task reader: it needs the methods trainingTasks() and evaluationTasks(), each an async generator of tasks. An async generator of training tasks alone is a reader too.`,
  );
}
