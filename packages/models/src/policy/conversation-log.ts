import { hash, randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import {
  type ChatMessage,
  type ChatRequest,
  type ChatResponse,
  ConfigError,
  isJsonObject,
  type JsonObject,
  parseJsonObject,
  toErrorMessage,
} from '@agentjet/core';
import { type ConversationDoor, LatestMap, RefusedFeedback } from '@agentjet/endpoint';
import { toRequestBody } from '@agentjet/model-client';
import { transcriptsFile } from '@agentjet/records';
import { LineFile } from './line-file.js';

/**
 * The conversations of a deployed agent with its users, in one folder: `transcripts.jsonl` has a line for each answered question,
 * and `feedback.jsonl` has what people say of answers later. The reader of traces takes the folder, and `ajet sft` takes
 * its transcripts. Lines are only appended, so a crash loses no answer that a user has seen whole.
 */

const feedbackFile = 'feedback.jsonl';

/**
 * Opens the folder, which may have conversations already. Throws ConfigError `unwritable_folder`. `onNotice` is called
 * for each incomplete line that is removed, and once if answers cannot be written; the agent still answers.
 */
export async function openConversationLog(
  dir: string,
  { onNotice = () => undefined }: { readonly onNotice?: ((message: string) => void) | undefined } = {},
): Promise<ConversationDoor> {
  const { answers, feedback, counts } = await openFolder(dir, onNotice);
  const questions = new Questions(counts);
  let hasFailed = false;
  const write = async (asked: Asked, request: ChatRequest, response: ChatResponse): Promise<void> => {
    try {
      await answers.append(toLine(asked, request, response));
    } catch (error) {
      if (!hasFailed) onNotice(`Conversations are not kept: ${toErrorMessage(error)}. The server still answers.`);
      hasFailed = true;
    }
  };
  return {
    onCall: ({ conversation, request }) => {
      if (request.isTrained === false) return () => Promise.resolve();
      const asked = questions.find(conversation, request.messages);
      return async (response) => {
        questions.addAnswer(asked, request, response);
        if (isFinal(response)) await write(asked, request, response);
      };
    },
    onFeedback: async (body) => {
      const { conversation_id: conversation, question, score, reward = score, ...said } = readFeedback(body);
      const asked = questions.require(conversation, question);
      const open = questions.takeOpen(asked);
      if (open !== undefined) await write(asked, open.request, open.response);
      const id = idOf(asked);
      await feedback.append({ id, ...said, score: reward, at: new Date() });
      return { id };
    },
  };
}

/** A question of a user. Its number counts the questions of its conversation from 1. */
type Asked = { readonly conversation: string; readonly number: number };

const idOf = ({ conversation, number }: Asked): string => `${conversation}/${number}`;

type Folder = {
  readonly answers: LineFile;
  readonly feedback: LineFile;
  readonly counts: Map<string, number>;
};

async function openFolder(dir: string, onNotice: (message: string) => void): Promise<Folder> {
  const counts = new Map<string, number>();
  try {
    await mkdir(dir, { recursive: true });
    const onLine = (line: string): void => countQuestion(counts, line);
    const answers = await LineFile.open(path.join(dir, transcriptsFile), { onLine, onNotice });
    return { answers, feedback: await LineFile.open(path.join(dir, feedbackFile), { onNotice }), counts };
  } catch (cause) {
    throw new ConfigError('unwritable_folder', `Conversations cannot be kept in ${dir}: ${toErrorMessage(cause)}.`, {
      cause,
    });
  }
}

/** Counts the question of a line for its conversation. A broken line is skipped. */
function countQuestion(counts: Map<string, number>, line: string): void {
  const { conversation_id: conversation, id } = parseJsonObject(line) ?? {};
  if (typeof conversation !== 'string' || typeof id !== 'string') return;
  const number = Number(id.slice(conversation.length + 1));
  if (number > (counts.get(conversation) ?? 0)) counts.set(conversation, number);
}

/** Whether the answer is for the user. An answer with tool calls is followed by another one. */
function isFinal({ message }: ChatResponse): boolean {
  return (message.toolCalls ?? []).length === 0 && message.content.trim() !== '';
}

/** The answer of a question that the agent never answered, but that a user commented on. */
const noAnswer = '(no answer)';

/** Answers before the question have weight 0, because they are in other lines. */
function toLine(asked: Asked, request: ChatRequest, response: ChatResponse): object {
  const { messages, tools } = toRequestBody({ ...request, messages: [...request.messages, response.message] }, '');
  const written = messages as readonly JsonObject[];
  const isAnswered = isFinal(response);
  const imitatedFrom =
    isAnswered && response.finishReason !== 'length' ? written.findLastIndex(({ role }) => role === 'user') : Infinity;
  return {
    id: idOf(asked),
    conversation_id: asked.conversation,
    model: response.model,
    at: new Date(),
    messages: written.map((message, at) =>
      message['role'] === 'assistant' && at < imitatedFrom ? { ...message, weight: 0 } : message,
    ),
    tools,
    ...(!isAnswered && { answer: noAnswer }),
  };
}

/** How many histories, numbers of questions and open questions are known. A server may run for months. */
const numKnown = 65_536;

type Open = { readonly request: ChatRequest; readonly response: ChatResponse };

/** Numbers the questions of conversations. The calls of an agent that uses tools belong to one question. */
class Questions {
  readonly #counts: Map<string, number>;
  /** Conversations by the history up to an answer. A history is forgotten once it is continued. */
  readonly #histories = new LatestMap<string>(numKnown);
  /** Numbers by conversation and history up to the question. */
  readonly #numbers = new LatestMap<number>(numKnown);
  /** The newest call of questions without an answer, by id. */
  readonly #open = new LatestMap<Open>(1024);

  constructor(counts: Map<string, number>) {
    this.#counts = counts;
  }

  /** Finds the question of a call. A request that names no conversation continues the one whose history it has. */
  find(named: string | undefined, messages: readonly ChatMessage[]): Asked {
    const conversation = named ?? this.#findConversation(messages);
    const key = `${conversation} ${keyOf(messages.slice(0, messages.findLastIndex(({ role }) => role === 'user') + 1))}`;
    const number = this.#numbers.get(key) ?? (this.#counts.get(conversation) ?? 0) + 1;
    this.#numbers.set(key, number);
    if (number > (this.#counts.get(conversation) ?? 0)) this.#counts.set(conversation, number);
    return { conversation, number };
  }

  #findConversation(messages: readonly ChatMessage[]): string {
    const last = messages.findLastIndex(({ role }) => role === 'assistant');
    if (last === -1) return randomUUID();
    const key = keyOf(messages.slice(0, last + 1));
    const found = this.#histories.get(key);
    this.#histories.delete(key);
    return found ?? randomUUID();
  }

  addAnswer(asked: Asked, request: ChatRequest, response: ChatResponse): void {
    this.#histories.set(keyOf([...request.messages, response.message]), asked.conversation);
    if (isFinal(response)) this.#open.delete(idOf(asked));
    else this.#open.set(idOf(asked), { request, response });
  }

  takeOpen(asked: Asked): Open | undefined {
    const open = this.#open.get(idOf(asked));
    this.#open.delete(idOf(asked));
    return open;
  }

  /** Returns the named question, or the newest one. Throws RefusedFeedback if there is none. */
  require(conversation: string, number?: number): Asked {
    const count = this.#counts.get(conversation);
    if (count !== undefined && (number ?? count) <= count) return { conversation, number: number ?? count };
    const seen = `conversation_id is ${JSON.stringify(conversation)}, which`;
    throw new RefusedFeedback(
      404,
      count === undefined ? `${seen} this server does not know.` : `${seen} has ${count} questions, not ${number}.`,
    );
  }
}

/** Clients may print tool calls in another way and leave reasoning out, so only roles and contents count. */
function keyOf(messages: readonly ChatMessage[]): string {
  return hash('sha256', JSON.stringify(messages.map(({ role, content }) => [role, content.trim()])));
}

type Feedback = {
  readonly conversation_id: string;
  readonly question?: number;
  readonly thumb?: 'up' | 'down';
  readonly score?: number;
  readonly reward?: number;
  readonly correction?: string;
  readonly comment?: string;
};

const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '';
const isNumber = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value);

const fields: { readonly [name in keyof Feedback]-?: readonly [(value: unknown) => boolean, string] } = {
  conversation_id: [isText, 'the id that the requests of the conversation sent as x-ajet-conversation'],
  question: [(value) => Number.isSafeInteger(value) && Number(value) > 0, 'the number of a question, from 1'],
  thumb: [(value) => value === 'up' || value === 'down', '"up" or "down"'],
  score: [isNumber, 'a number'],
  reward: [isNumber, 'a number'],
  correction: [isText, 'the answer that the agent should have given'],
  comment: [isText, 'text'],
};

/** Throws RefusedFeedback, which names the field at fault. */
function readFeedback(body: unknown): Feedback {
  if (!isJsonObject(body)) throw new RefusedFeedback(400, 'The body is not a JSON object.');
  for (const [name, value] of Object.entries(body)) {
    if (!Object.hasOwn(fields, name))
      throw new RefusedFeedback(400, `"${name}" is unknown. There are ${Object.keys(fields).join(', ')}.`);
    const [isRight, expected] = fields[name as keyof Feedback];
    if (!isRight(value)) throw new RefusedFeedback(400, `${name} is ${JSON.stringify(value)}, not ${expected}.`);
  }
  if (body['conversation_id'] === undefined)
    throw new RefusedFeedback(400, `conversation_id is missing: ${fields.conversation_id[1]}.`);
  if (body['score'] !== undefined && body['reward'] !== undefined)
    throw new RefusedFeedback(400, 'score and reward are the same. Send one of them.');
  if (!['thumb', 'score', 'reward', 'correction'].some((name) => body[name] !== undefined))
    throw new RefusedFeedback(400, 'The body has no feedback. Send thumb, score, reward or correction.');
  return body as Feedback;
}
