import { JudgeError } from '@agentjet/core';
import type { ModelClient, ModelQuestion } from '@agentjet/model-client';

/** Further tries of an answer that cannot be read. */
const maxRepairs = 2;

export type Reading<Answer> = {
  readonly question: ModelQuestion;
  /** The answer that a text is, or what is wrong with it. */
  read(text: string): Answer | { readonly mistake: string };
  /** For messages: `That is not the verdict`, and `verdict`. */
  readonly complaint: string;
  readonly noun: string;
  readonly signal: AbortSignal;
};

/** What is repeated of an answer that cannot be read. */
const mostOfReply = 2000;

/** The model may have repeated the candidate, and a mistake names what it wrote. So both are data here, too: a JSON string each. */
function askForRepair(
  complaint: string,
  { reply, mistake }: { readonly reply: string; readonly mistake: string },
): string {
  const wrong = JSON.stringify({ reply: reply.slice(0, mostOfReply), mistake });
  return `${complaint}. Your reply and what is wrong with it, as JSON:\n${wrong}\nReply with the one JSON object that was asked for and nothing else.`;
}

/** Asks, and says what is wrong with an answer that cannot be read. Throws JudgeError `unreadable_verdict` after two repairs. */
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
