import type { Task } from './task.js';

/** The maximum number of characters in a kind. A longer value does not count as a kind. */
const maxLength = 100;

/** Line breaks and control characters would break the lines of a terminal, in which kinds are printed. */
const unprintable = /[\s\p{Cc}]+/gu;

/** The kind of a task: the value of this field of its metadata, in one line. Undefined if the task has no kind. */
export function kindOf({ metadata }: Pick<Task, 'metadata'>, field: string | null): string | undefined {
  const value = field === null ? undefined : metadata[field];
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined;
  const kind = String(value).replace(unprintable, ' ').trim();
  return kind === '' || kind.length > maxLength ? undefined : kind;
}
