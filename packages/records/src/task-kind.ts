import type { Task } from '@agentjet/core';

/** The maximum number of characters in a kind. A longer value does not count as a kind. */
const maxLength = 100;

/** The kind of a task: the value of this field of its metadata. Undefined if the task has no kind. */
export function kindOf({ metadata }: Pick<Task, 'metadata'>, field: string | null): string | undefined {
  const value = field === null ? undefined : metadata[field];
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined;
  const kind = String(value).trim();
  return kind === '' || kind.length > maxLength ? undefined : kind;
}

/** The kind of a group's task, from the first episode that has a kind. An attempt that was lost in a swarm has none. */
export function kindOfGroup(
  episodes: readonly { readonly task: Pick<Task, 'metadata'> }[],
  field: string | null,
): string | undefined {
  for (const { task } of episodes) {
    const kind = kindOf(task, field);
    if (kind !== undefined) return kind;
  }
  return undefined;
}
