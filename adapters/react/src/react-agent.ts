import {
  parseJson,
  type ChatDelta,
  type ChatMessage,
  type ChatModel,
  type ChatResponse,
  type ResponseFormat,
  type SamplingOptions,
  type ToolChoice,
  type ToolMessage,
} from '@agentjet/core';
import { InMemoryMemory, type Memory } from './memory.js';
import type { Message, Reply } from './message.js';
import { Toolkit } from './toolkit.js';

/** Options of `new ReActAgent()`. */
export type ReActAgentOptions = {
  readonly name: string;
  readonly systemPrompt: string;
  readonly model: ChatModel;
  readonly toolkit?: Toolkit;
  /** Default: an InMemoryMemory, which keeps everything. */
  readonly memory?: Memory;
  /**
   * The maximum number of model calls per reply. Default: 10. A reply that reaches it has finish reason
   * `max_iterations`.
   */
  readonly maxIterations?: number;
  readonly sampling?: SamplingOptions;
  readonly hooks?: ReActHooks;
};

/** Callbacks for logs and screens. */
export type ReActHooks = {
  readonly onDelta?: (delta: ChatDelta) => void;
  readonly onModelAnswer?: (response: ChatResponse) => void | Promise<void>;
  readonly onToolResult?: (result: ToolMessage) => void | Promise<void>;
};

/** Options of `agent.reply()`. */
export type ReplyOptions = {
  readonly signal?: AbortSignal;
  readonly sampling?: SamplingOptions;
  readonly toolChoice?: ToolChoice;
  readonly responseFormat?: ResponseFormat;
  /** If false, the answers are not trained. */
  readonly train?: boolean;
};

/** A participant of a MessageHub. */
export interface Participant {
  readonly name: string;
  observe(messages: Message | readonly Message[]): Promise<void>;
  reply(messages?: Message | readonly Message[], options?: ReplyOptions): Promise<Reply>;
  /** Calls the listener with every reply from now on. Returns a function that removes the listener. */
  onReply(listener: (reply: Reply) => Promise<void>): () => void;
}

/** An agent that reasons and acts in turns. It calls its model until an answer has no tool calls. */
export class ReActAgent implements Participant {
  readonly name: string;
  readonly toolkit: Toolkit;
  readonly memory: Memory;
  readonly #options: ReActAgentOptions;
  readonly #listeners = new Set<(reply: Reply) => Promise<void>>();

  /** Throws TypeError if there is no model. */
  constructor(options: ReActAgentOptions) {
    const { model }: { readonly model?: Partial<ChatModel> } = options;
    if (typeof model?.generate !== 'function')
      throw new TypeError(
        `Agent "${options.name}" has no model. Pass model: asModel(tuner, { agentName: "${options.name}" }), or any ChatModel.`,
      );
    this.name = options.name;
    this.toolkit = options.toolkit ?? new Toolkit();
    this.memory = options.memory ?? new InMemoryMemory();
    this.#options = options;
  }

  /** Remembers the messages and does not answer. */
  async observe(messages: Message | readonly Message[]): Promise<void> {
    for (const message of [messages].flat()) await this.memory.add(toChatMessage(message));
  }

  /**
   * Answers the given messages and those that the agent has observed before. Tool errors become part of the
   * conversation; model errors are thrown.
   */
  async reply(messages: Message | readonly Message[] = [], options: ReplyOptions = {}): Promise<Reply> {
    await this.observe(messages);
    const reply = await this.#loop(options);
    for (const listener of this.#listeners) await listener(reply);
    return reply;
  }

  onReply(listener: (reply: Reply) => Promise<void>): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #loop(options: ReplyOptions): Promise<Reply> {
    const { maxIterations = 10 } = this.#options;
    let content = '';
    for (let iteration = 0; iteration < maxIterations; iteration++) {
      const response = await this.#think(options);
      const { toolCalls = [] } = response.message;
      content = response.message.content;
      if (toolCalls.length === 0) return this.#toReply(content, response.finishReason, options);
      await this.#act(response, options);
    }
    return this.#toReply(content, 'max_iterations', options);
  }

  async #think({ signal, sampling, toolChoice, responseFormat, train }: ReplyOptions): Promise<ChatResponse> {
    const { systemPrompt, model, hooks } = this.#options;
    const tools = this.toolkit.specs;
    const request = {
      messages: [{ role: 'system' as const, content: systemPrompt }, ...(await this.memory.messages())],
      sampling: { ...this.#options.sampling, ...sampling },
      ...(tools.length > 0 && { tools }),
      ...(toolChoice !== undefined && { toolChoice }),
      ...(responseFormat !== undefined && { responseFormat }),
      ...(train === false && { isTrained: false }),
    };
    const response = await model.generate(request, {
      ...(signal !== undefined && { signal }),
      ...(hooks?.onDelta !== undefined && { onDelta: hooks.onDelta }),
    });
    await this.memory.add(response.message);
    await hooks?.onModelAnswer?.(response);
    return response;
  }

  /** Runs parallel calls together. Their results are in the order of the calls. */
  async #act({ message }: ChatResponse, { signal }: ReplyOptions): Promise<void> {
    const results = await Promise.all((message.toolCalls ?? []).map((call) => this.toolkit.call(call, { signal })));
    for (const result of results) {
      await this.memory.add(result);
      await this.#options.hooks?.onToolResult?.(result);
    }
  }

  #toReply(content: string, finishReason: Reply['finishReason'], { responseFormat }: ReplyOptions): Reply {
    const reply = { name: this.name, role: 'assistant' as const, content, finishReason };
    return responseFormat === undefined || responseFormat.type === 'text'
      ? reply
      : { ...reply, json: parseJson(content) };
  }
}

/**
 * Converts a message for the model. A message of another agent becomes a user message that begins with the agent's
 * name. A message of the user has no such prefix.
 */
function toChatMessage(message: Message): ChatMessage {
  const { name, role, content } = message;
  if (typeof content !== 'string')
    throw new TypeError(
      `${JSON.stringify(message)} is not a message. Pass { name: "user", role: "user", content: "..." }.`,
    );
  if (role === 'system') return { role, content };
  return { role: 'user', content: role === 'user' ? content : `${name}: ${content}`, name };
}
