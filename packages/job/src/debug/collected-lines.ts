import { isJsonObject, isSameJsonText, snakeKeys, type ChatMessage, type ChatRequest } from '@agentjet/core';
import { toRequestBody } from '@agentjet/model-client';
import type { TranscriptCall, EpisodeTranscript } from '@agentjet/records';

/**
 * Returns the lines of `transcripts.jsonl` for one episode: its calls as conversations in OpenAI's fine-tuning format.
 * A call whose messages continue after the answer of an earlier call continues the conversation of that call. A call
 * that begins a new history, or goes back in a history, starts another line. In that line, answers of earlier lines
 * have weight 0, so each answer is imitated once.
 */
export function toCollectedLines({ episode, calls }: EpisodeTranscript): readonly Readonly<Record<string, unknown>>[] {
  const { task } = episode;
  const known = {
    episode_id: episode.episodeId,
    repeat_index: episode.repeatIndex,
    status: episode.status,
    ...(episode.status === 'completed'
      ? { reward: episode.reward, is_success: episode.isSuccess }
      : { error: episode.error }),
    task: {
      ...snakeKeys({ taskId: task.taskId, mainQuery: task.mainQuery, initMessages: task.initMessages }),
      metadata: task.metadata,
    },
  };
  const lines = join(calls).map((conversation) => ({ ...known, ...toLine(conversation) }));
  return lines.length > 0 ? lines : [{ ...known, messages: [] }];
}

type Joined = {
  readonly agentName: string;
  readonly targetTag: string;
  readonly request: Omit<ChatRequest, 'messages'>;
  messages: readonly ChatMessage[];
  /** The weight of each message. It is 1 for an answer that was given in this conversation and was not cut off. */
  weights: readonly (0 | 1)[];
};

function join(calls: readonly TranscriptCall[]): readonly Joined[] {
  const joined: Joined[] = [];
  for (const call of calls) {
    if (call.untrainedModel !== undefined || !('response' in call) || call.request.isTrained === false) continue;
    const { agentName, targetTag = agentName, request } = call;
    const kin = joined.filter((each) => isKin(each, call));
    const longest = kin.toSorted((a, b) => sharedLength(b, request.messages) - sharedLength(a, request.messages))[0];
    const shared = longest === undefined ? 0 : sharedLength(longest, request.messages);
    const answer = call.response.message;
    // Do not train an answer that was cut off, because the model would learn to stop in the middle of an answer.
    const weight = call.response.finishReason === 'length' ? 0 : 1;
    const added = request.messages.slice(shared);
    if (longest !== undefined && shared === longest.messages.length) {
      longest.messages = [...longest.messages, ...added, answer];
      longest.weights = [...longest.weights, ...added.map(() => 0 as const), weight];
      continue;
    }
    const { messages: _, ...others } = request;
    const messages = [...(longest?.messages.slice(0, shared) ?? []), ...added, answer];
    joined.push({
      agentName,
      targetTag,
      request: others,
      messages,
      weights: messages.map((_, at) => (at === messages.length - 1 ? weight : 0)),
    });
  }
  return joined.filter(({ weights }) => weights.includes(1));
}

function isKin({ agentName, request }: Joined, call: TranscriptCall): boolean {
  const shape = ({ tools, toolChoice, responseFormat }: Omit<ChatRequest, 'messages'>): string =>
    JSON.stringify([tools ?? [], toolChoice ?? 'auto', responseFormat ?? null]);
  return agentName === call.agentName && shape(request) === shape(call.request);
}

/**
 * Returns the number of leading messages that both lists share. Differences of notation are ignored, because frameworks
 * may write an answer in another way.
 */
function sharedLength({ messages }: Joined, sent: readonly ChatMessage[]): number {
  let length = 0;
  while (length < messages.length && isSame(messages[length], sent[length])) length++;
  return length;
}

function isSame(own: ChatMessage | undefined, sent: ChatMessage | undefined): boolean {
  if (own === undefined || sent === undefined || own.role !== sent.role) return false;
  if (own.role !== 'assistant' || sent.role !== 'assistant') return JSON.stringify(own) === JSON.stringify(sent);
  const [calls, sentCalls] = [own.toolCalls ?? [], sent.toolCalls ?? []];
  return (
    own.content.trim() === sent.content.trim() &&
    calls.length === sentCalls.length &&
    calls.every(({ id, name, arguments: text }, at) => {
      const other = sentCalls[at];
      return other?.id === id && other.name === name && isSameJsonText(text, other.arguments);
    })
  );
}

function toLine({ agentName, targetTag, request, messages, weights }: Joined): Readonly<Record<string, unknown>> {
  const body = toRequestBody({ ...request, messages }, '');
  const { tools, tool_choice: toolChoice, response_format: responseFormat } = body;
  const wire = Array.isArray(body['messages']) ? (body['messages'] as readonly unknown[]) : [];
  return {
    agent: agentName,
    target: targetTag,
    messages: wire.map((message, at) =>
      isJsonObject(message) && message['role'] === 'assistant' && weights[at] === 0
        ? { ...message, weight: 0 }
        : message,
    ),
    tools,
    tool_choice: toolChoice,
    response_format: responseFormat,
  };
}
