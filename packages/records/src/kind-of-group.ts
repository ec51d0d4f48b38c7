import type { Task } from '@agentjet/core';
import { kindOf } from '@agentjet/core/success';

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
