import { kindOf } from '@agentjet/core/success';
import type { Task } from '@agentjet/core';

/**
 * Counts answers for the metrics of a step: all answers of the models that learn (`answers`), and those of them that a
 * token limit cut (`answers_cut`).
 */
export function countAnswers(
  episodes: readonly { readonly turns: readonly { readonly isTruncated: boolean }[] }[],
): Readonly<Record<'answers' | 'answers_cut', number>> {
  const turns = episodes.flatMap((episode) => episode.turns);
  return { answers: turns.length, answers_cut: turns.filter(({ isTruncated }) => isTruncated).length };
}

/** Counts tool calls that were not recognized, for the metrics of a step. Empty if there are none. */
export function countMalformedCalls(
  episodes: readonly { readonly calls: { readonly malformedToolCalls: number } }[],
): Readonly<Partial<Record<'malformed_tool_calls', number>>> {
  const malformed = episodes.reduce((sum, { calls }) => sum + calls.malformedToolCalls, 0);
  return malformed === 0 ? {} : { malformed_tool_calls: malformed };
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
