import type { JudgeContext } from '@agentjet/rollout';

/** The last message of an agent, or of the agent that spoke last, without its reasoning. Null if it said nothing. */
export function lastAnswerText(transcripts: JudgeContext['transcripts'], agent: string | null): string | null {
  const own = transcripts.filter(({ agentName }) => agent === null || agentName === agent);
  const last = own.at(-1)?.messages.findLast(({ role }) => role === 'assistant');
  return last === undefined || last.content.trim() === '' ? null : last.content;
}

/** The agent's answer according to the workflow, as text. Null if there is none. */
export function candidateText(value: unknown): string | null {
  if (typeof value === 'string') return value.trim() === '' ? null : value;
  return value === undefined || value === null ? null : JSON.stringify(value);
}
