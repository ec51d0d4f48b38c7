import type { Task } from './task.js';

/** The maximum number of characters in a kind. A longer value does not count as a kind. */
const maxLength = 100;

/** The kind of a task: the value of this field of its metadata. Undefined if the task has no kind. */
export function kindOf({ metadata }: Pick<Task, 'metadata'>, field: string | null): string | undefined {
  const value = field === null ? undefined : metadata[field];
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined;
  const kind = String(value).trim();
  return kind === '' || kind.length > maxLength ? undefined : kind;
}
