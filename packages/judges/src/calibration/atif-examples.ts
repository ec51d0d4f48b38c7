import { type AtifDocument, BadAtif, readTrajectory, toConversations } from '@agentjet/atif';
import { type ChatMessage, isJsonObject, type JsonObject, TaskError } from '@agentjet/core';
import type { JudgeContext } from '@agentjet/rollout';

type Transcripts = JudgeContext['transcripts'];

/** An episode that people have scored, as the fields of a labelled line and what its agents read and answered. */
export type AtifExample = { readonly place: string; readonly row: JsonObject; readonly transcripts: Transcripts };

/**
 * Reads ATIF documents as examples. Documents with the same `session_id` are one example. Its question is the first
 * message of the user, and its answer the last of an agent. The score is `extra.feedback`, `extra.score`,
 * `extra.label` or `extra.is_success`, otherwise the reward of our own documents. `extra.metadata` is the metadata of
 * the task. Throws TaskError `bad_example`.
 */
export function readAtifExamples(placed: readonly { readonly place: string; readonly value: JsonObject }[]) {
  const sessions = new Map<string, { readonly place: string; readonly documents: AtifDocument[] }>();
  for (const { place, value } of placed) {
    const document = read(value, place);
    const session = sessions.get(document.session_id ?? place) ?? { place, documents: [] };
    session.documents.push(document);
    sessions.set(document.session_id ?? place, session);
  }
  return [...sessions.values()].map(({ place, documents }) => toExample(documents, place));
}

function read(value: JsonObject, place: string): AtifDocument {
  try {
    return readTrajectory(value);
  } catch (error) {
    if (!(error instanceof BadAtif)) throw error;
    throw new TaskError('bad_example', `${place} is not a trajectory: ${error.message}`, { cause: error });
  }
}

function toExample(documents: readonly AtifDocument[], place: string): AtifExample {
  const transcripts = documents.flatMap((document) => toConversations(document).map(toTranscript));
  const messages = transcripts.flatMap((each) => each.messages);
  const question = messages.find(({ role }) => role === 'user')?.content;
  const answer = messages.findLast(({ role }) => role === 'assistant')?.content;
  const extra = documents.find((each) => each.extra !== undefined)?.extra ?? {};
  const row = { main_query: question, answer, ...labelOf(extra), task_id: documents[0]?.session_id };
  return {
    place,
    row: { ...row, ...(isJsonObject(extra['metadata']) && { metadata: extra['metadata'] }) },
    transcripts,
  };
}

/** The words of a label. A thumb is a success or a failure. */
function labelOf(extra: JsonObject): JsonObject {
  const { feedback, agentjet: ours, score, label, is_success: isSuccess } = extra;
  if (isJsonObject(feedback) && ('score' in feedback || 'thumb' in feedback))
    return {
      ...('score' in feedback && { score: feedback['score'] }),
      ...('thumb' in feedback && { is_success: feedback['thumb'] === 'up' }),
    };
  if (score !== undefined || label !== undefined || isSuccess !== undefined)
    return { score, is_success: isSuccess, ...(label !== undefined && { label }) };
  return isJsonObject(ours) ? { score: ours['reward'], is_success: ours['is_success'] } : {};
}

function toTranscript({ agent, messages }: JsonObject): Transcripts[number] {
  return { agentName: String(agent), messages: (messages as readonly JsonObject[]).map(toMessage) };
}

type WrittenCall = { readonly id: string; readonly function: { readonly name: string; readonly arguments: string } };

/** Converts a message that `toConversations` wrote. */
function toMessage({
  role,
  content,
  reasoning_content: reasoning,
  tool_calls: calls,
  tool_call_id: id,
}: JsonObject): ChatMessage {
  const text = String(content);
  if (role === 'tool') return { role, content: text, toolCallId: String(id) };
  if (role === 'system' || role === 'user') return { role, content: text };
  const toolCalls = ((calls ?? []) as readonly WrittenCall[]).map((call) => ({ id: call.id, ...call.function }));
  return {
    role: 'assistant',
    content: text,
    ...(typeof reasoning === 'string' && { reasoning }),
    ...(toolCalls.length > 0 && { toolCalls }),
  };
}
