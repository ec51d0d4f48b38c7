import { BadAtif, readTrajectory, toConversations } from '@agentjet/atif';
import { isJsonObject, TaskError, type JsonObject } from '@agentjet/core';
import { readFeedback, readMessage, upToQuestion, type TraceMessage, type Trace } from './trace.js';

/** Returns whether a line of a run's `transcripts.jsonl` belongs to an episode without messages. */
export function isSilentEpisode(value: unknown): boolean {
  if (!isJsonObject(value) || value['episode_id'] === undefined) return false;
  const { messages } = value;
  return Array.isArray(messages) && !messages.some((each) => readMessage(each)?.role === 'assistant');
}

/**
 * Reads a line of a log or an export: `{ id, conversation_id, messages, answer, feedback }`, or `question` instead of
 * `messages`. Without `answer`, the last message is the answer. Throws TaskError for a line without a question or
 * without an answer.
 */
export function readExportedTrace(value: unknown, where: string): Trace {
  if (!isJsonObject(value)) throw notTrace(where, 'is not an object');
  const listed = value['messages'] ?? value['conversations'];
  const all = Array.isArray(listed) ? listed.flatMap((each: unknown) => readMessage(each) ?? []) : [];
  const { messages, answer } = divide(value, all);
  const asked = upToQuestion(messages);
  if (asked === undefined || answer === undefined)
    throw notTrace(
      where,
      `has ${asked === undefined ? 'no question' : 'no answer'}: it has ${Object.keys(value).join(', ')}`,
    );
  const id = textOf(value['id'] ?? value['trace_id'] ?? value['episode_id']) ?? where;
  const conversation = textOf(value['conversation_id'] ?? value['session_id'] ?? value['thread_id']) ?? id;
  const feedback = { ...readFeedback(value), ...readFeedback(value['feedback']) };
  return { id, conversation, messages: asked, answer, feedback };
}

/**
 * Reads an ATIF document: the last question and answer of its agent, and of each subagent in it. Feedback is in
 * `extra.feedback`. Throws TaskError.
 */
export function readAtifTraces(value: JsonObject, where: string): readonly Trace[] {
  try {
    const document = readTrajectory(value);
    const feedback = document.extra?.['feedback'];
    return toConversations(document).map(({ messages, episode_id: id = where, agent }, at) => {
      const line = { id: at === 0 ? id : `${String(id)}/${String(agent)}`, conversation_id: id, messages, feedback };
      return readExportedTrace(line, where);
    });
  } catch (error) {
    if (!(error instanceof BadAtif)) throw error;
    throw new TaskError('bad_trace', `${where} is not a trajectory: ${error.message}`, { cause: error });
  }
}

function divide(
  value: JsonObject,
  all: readonly TraceMessage[],
): { readonly messages: readonly TraceMessage[]; readonly answer: string | undefined } {
  const question = textOf(value['question'] ?? value['input']);
  const given = textOf(value['answer'] ?? value['output'] ?? value['response']);
  const messages = all.length === 0 && question !== undefined ? [{ role: 'user' as const, content: question }] : all;
  if (given !== undefined) return { messages, answer: given };
  const last = messages.at(-1);
  return last?.role === 'assistant'
    ? { messages: messages.slice(0, -1), answer: last.content }
    : { messages, answer: undefined };
}

export function textOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

function notTrace(where: string, what: string): TaskError {
  return new TaskError(
    'bad_trace',
    `${where} ${what}. Write { "id", "conversation_id", "messages": [{ "role", "content" }], "answer", "feedback": { "thumb" | "score" | "correction" } }.`,
  );
}
