import { createHash } from 'node:crypto';
import {
  EngineError,
  type AssistantMessage,
  type ChatMessage,
  type ChatModel,
  type ChatRequest,
  type Completion,
  type Engine,
  type Sample,
} from '@agentjet/core';
import { openEpisode, toShown, type Episode, type Policy } from '@agentjet/rollout';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import { toAnswerIds } from './answer-ids.js';
import type { Conversation, Transcript } from './conversation.js';

/**
 * Replays a transcript through the models of an episode as if its answers had been sampled, with the same templates,
 * tracker and samples. If the agent sends an answer back, its tool calls have the ids that the tracker gave them.
 */

export type ReplayOptions = { readonly chatTokenizer: ChatTokenizer } & Pick<
  Extract<Policy, { readonly kind: 'engine' }>,
  'historyPolicy' | 'specialTokensInText'
>;

/** The samples of a transcript, or the reason why it has none. */
export type Replayed =
  | { readonly samples: readonly Sample[]; readonly turns: Episode['turns'] }
  | { readonly refused: 'unprintable' | 'refused_by_template'; readonly message: string };

/** Sampling settings, which the calls require. They have no effect, because the engine returns given answers. */
const sampling = { temperature: 1, topP: 1, topK: -1, maxTokens: 2 ** 31 - 1 };

/** An engine whose next answer is set before the call. */
class PromptedEngine implements Engine {
  readonly contextLength = 2 ** 31 - 1;
  answer: Int32Array = new Int32Array();

  async generate(): Promise<Completion> {
    const ids = this.answer;
    return { ids, logprobs: new Float32Array(ids.length), finishReason: 'stop', policyVersion: 0 };
  }
}

export async function replayTranscript(
  { id, conversations }: Transcript,
  { chatTokenizer, ...settings }: ReplayOptions,
): Promise<Replayed> {
  const engine = new PromptedEngine();
  const open = openEpisode(
    { policy: { kind: 'engine', engine, chatTokenizer, ...settings }, sampling, requestSampling: 'ignore' },
    { episodeId: id, seed: 0 },
  );
  const said = new Map<string, AssistantMessage>();
  try {
    for (const conversation of conversations) {
      const model = open.createModel(conversation);
      await replayConversation(conversation, { model, engine, chatTokenizer, said });
    }
  } catch (error) {
    if (error instanceof Unprintable) return { refused: 'unprintable', message: error.message };
    if (error instanceof EngineError) return { refused: 'refused_by_template', message: error.message };
    throw error;
  } finally {
    open.finish();
  }
  const { samples, turns } = open.finish();
  return { samples, turns };
}

class Unprintable extends Error {}

type Speaker = {
  readonly model: ChatModel;
  readonly engine: PromptedEngine;
  readonly chatTokenizer: ChatTokenizer;
  /** The given answers, by a hash of the conversation before each of them. */
  readonly said: Map<string, AssistantMessage>;
};

async function replayConversation(conversation: Conversation, speaker: Speaker): Promise<void> {
  const { agentName, messages, imitated, tools } = conversation;
  const sent: ChatMessage[] = [];
  const ownIds = new Map<string, string>();
  let key = JSON.stringify([agentName, tools]);
  for (const [at, message] of messages.entries()) {
    key = createHash('sha256').update(key).update(JSON.stringify(message)).digest('base64');
    if (message.role === 'assistant' && imitated[at] === true && !speaker.said.has(key))
      speaker.said.set(key, await say(message, { ...requestOf(conversation), messages: [...sent] }, speaker));
    sent.push(asSent(message, speaker.said.get(key), ownIds));
  }
}

function requestOf({ tools, toolChoice, responseFormat }: Conversation): Omit<ChatRequest, 'messages'> {
  return {
    ...(tools !== undefined && { tools }),
    ...(toolChoice !== undefined && { toolChoice }),
    ...(responseFormat !== undefined && { responseFormat }),
  };
}

async function say(
  answer: AssistantMessage,
  request: ChatRequest,
  { model, engine, chatTokenizer }: Speaker,
): Promise<AssistantMessage> {
  if (request.messages.length === 0)
    throw new Unprintable('The transcript begins with an answer. Put a user message before it.');
  const { shown, opening } = toShown(request, chatTokenizer);
  const ids = toAnswerIds(chatTokenizer, { ...shown, opening }, answer);
  if (ids === undefined)
    throw new Unprintable(
      `The chat template cannot render message ${request.messages.length + 1} so that the rendered tokens parse to the same message: ${JSON.stringify(answer).slice(0, 200)}`,
    );
  engine.answer = ids;
  return (await model.generate(request)).message;
}

/**
 * Returns the message as an agent with our model would send it. If the message is an answer of the model, `said` is the
 * tracker's version of it.
 */
function asSent(message: ChatMessage, said: AssistantMessage | undefined, ownIds: Map<string, string>): ChatMessage {
  if (message.role === 'tool') return { ...message, toolCallId: ownIds.get(message.toolCallId) ?? message.toolCallId };
  if (message.role !== 'assistant' || said === undefined) return message;
  message.toolCalls?.forEach(({ id }, at) => ownIds.set(id, said.toolCalls?.[at]?.id ?? id));
  return said;
}
