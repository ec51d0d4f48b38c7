import { JudgeError } from '@agentjet/core';
import type { ModelClient, ModelQuestion } from '@agentjet/model-client';

/** How often an unreadable answer may be repaired. */
const maxRepairs = 2;

export type Reading<Answer> = {
  readonly question: ModelQuestion;
  /** Returns the parsed answer, or what is wrong with the text. */
  read(text: string): Answer | { readonly mistake: string };
  /** Words for messages, such as `That is not the verdict` and `verdict`. */
  readonly complaint: string;
  readonly noun: string;
  readonly signal: AbortSignal;
};

/** How much of an unreadable answer is repeated, in characters. */
const mostOfReply = 2000;

/**
 * The model may have repeated the candidate's words, and the mistake quotes the model. So both are data here too, each
 * in one JSON string.
 */
function askForRepair(
  complaint: string,
  { reply, mistake }: { readonly reply: string; readonly mistake: string },
): string {
  const wrong = JSON.stringify({ reply: reply.slice(0, mostOfReply), mistake });
  return `${complaint}. Your reply and what is wrong with it, as JSON:\n${wrong}\nReply with the one JSON object that was asked for and nothing else.`;
}

/**
 * Asks, and explains what is wrong with an unreadable answer. Throws JudgeError `unreadable_verdict` after two repairs.
 */
export async function askUntilRead<Answer extends object>(
  client: ModelClient,
  { question, read, complaint, noun, signal }: Reading<Answer>,
): Promise<Answer> {
  let { messages } = question;
  let mistake = '';
  for (let attempt = 0; attempt <= maxRepairs; attempt++) {
    const { text } = await client.ask({ ...question, messages }, signal);
    const answer = read(text);
    if (!('mistake' in answer)) return answer;
    ({ mistake } = answer);
    messages = [...messages, { role: 'user', content: askForRepair(complaint, { reply: text, mistake }) }];
  }
  throw new JudgeError('unreadable_verdict', `The judge wrote no ${noun} in ${maxRepairs + 1} tries: ${mistake}`);
}
