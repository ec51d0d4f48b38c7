import type { JudgeContext } from '@agentjet/rollout';

/** The last words of an agent, or of the one that spoke last; null if it said nothing. Reasoning is not part of them. */
export function lastAnswerText(transcripts: JudgeContext['transcripts'], agent: string | null): string | null {
  const own = transcripts.filter(({ agentName }) => agent === null || agentName === agent);
  const last = own.at(-1)?.messages.findLast(({ role }) => role === 'assistant');
  return last === undefined || last.content.trim() === '' ? null : last.content;
}
