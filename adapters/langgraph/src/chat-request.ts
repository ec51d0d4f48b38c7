import {
  EngineError,
  type AssistantMessage,
  type ChatMessage,
  type ChatRequest,
  type ResponseFormat,
  type SamplingOptions,
  type ToolChoice,
  type ToolSpec,
} from '@agentjet/core';
import { isServerTool, readTemplateWishes } from '@agentjet/core/parameters';
import { restoreTurn, keptTurnKey, type ShownToolCall } from '@agentjet/rollout';
import type {
  AIMessage,
  AIMessageChunk,
  BaseMessage,
  ChatMessage as RoleMessage,
  ToolMessage,
} from '@langchain/core/messages';
import { isLangChainTool, convertToOpenAITool } from '@langchain/core/utils/function_calling';
import { toJsonSchema } from '@langchain/core/utils/json_schema';
import { isInteropZodSchema } from '@langchain/core/utils/types';
import type { BindToolsInput } from '@langchain/core/language_models/chat_models';
import { checkCallOptions } from './check-call-options.js';
import { findUnshownBlocks, toReasoning, toShownCalls, textOfMessage } from './content.js';
import type { TunedCallOptions } from './tuned-chat-model.js';

export function fromLangChainMessages(
  messages: readonly BaseMessage[],
  options: TunedCallOptions,
  defaults: SamplingOptions,
): ChatRequest {
  const unshown = findUnshownBlocks(messages).map((type) => `messages: ${type}`);
  const ignored = [...checkCallOptions(options), ...unshown];
  const tools = (options.tools ?? []).filter((tool) => !isServerTool('langgraph', typeOf(tool)));
  const toolChoice = toToolChoice(options.tool_choice);
  const responseFormat = toResponseFormat(options);
  return {
    messages: messages.map(toChatMessage),
    sampling: toSamplingOptions(options, defaults),
    ...(tools.length > 0 && { tools: tools.map(toToolSpec) }),
    ...(toolChoice !== undefined && { toolChoice }),
    ...(options.parallel_tool_calls === false && { parallelToolCalls: false }),
    ...(responseFormat !== undefined && { responseFormat }),
    ...(options.requestId !== undefined && { requestId: options.requestId }),
    ...(options.train === false && { isTrained: false }),
    ...readTemplateWishes('langgraph', options),
    ...(ignored.length > 0 && { ignoredParameters: ignored }),
  };
}

function typeOf(tool: BindToolsInput): unknown {
  return typeof tool === 'object' && tool !== null && 'type' in tool ? tool.type : undefined;
}

function toChatMessage(message: BaseMessage): ChatMessage {
  const name = message.name === undefined ? {} : { name: message.name };
  switch (message.type) {
    case 'ai':
      return toAssistantMessage(message as AIMessage | AIMessageChunk);
    case 'tool':
      return {
        role: 'tool',
        content: textOfMessage(message),
        toolCallId: (message as ToolMessage).tool_call_id,
        ...name,
      };
    case 'system':
    case 'developer':
      return { role: 'system', content: textOfMessage(message) };
    case 'human':
      return { role: 'user', content: textOfMessage(message), ...name };
    case 'generic':
      return { role: toRole(message), content: textOfMessage(message) };
    default:
      throw new EngineError(
        'bad_request',
        `A message of type "${message.type}" cannot be shown to the model. Use system, human, ai or tool messages.`,
      );
  }
}

const roles = {
  system: 'system',
  developer: 'system',
  user: 'user',
  human: 'user',
  assistant: 'assistant',
  ai: 'assistant',
} as const;

function toRole(message: BaseMessage): 'system' | 'user' | 'assistant' {
  const { role } = message as RoleMessage;
  if (Object.hasOwn(roles, role)) return roles[role as keyof typeof roles];
  throw new EngineError(
    'bad_request',
    `A message of role "${role}" cannot be shown to the model. Use ${Object.keys(roles).join(', ')}.`,
  );
}

/**
 * Uses the turn that the adapter kept in the message, because LangChain may write the arguments of calls differently.
 */
function toAssistantMessage(message: AIMessage | AIMessageChunk): AssistantMessage {
  const { additional_kwargs: extra, response_metadata: metadata } = message;
  const content = textOfMessage(message);
  const shown = toShownCalls(message);
  const given = extra['reasoning_content'];
  const reasoning = typeof given === 'string' ? given : toReasoning(message);
  const kept: unknown =
    extra[keptTurnKey] ?? (metadata as Readonly<Record<string, unknown>> | undefined)?.[keptTurnKey];
  return (
    restoreTurn(kept, { content, reasoning, toolCalls: shown }) ?? {
      role: 'assistant',
      content,
      ...(reasoning !== '' && { reasoning }),
      ...(shown.length > 0 && { toolCalls: shown.map(toToolCall) }),
    }
  );
}

function toToolCall({ id, name, arguments: args }: ShownToolCall): {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
} {
  return { id: id ?? '', name, arguments: typeof args === 'string' ? args : JSON.stringify(args) };
}

function toToolSpec(tool: BindToolsInput): ToolSpec {
  const { name, description, parameters } =
    typeof tool === 'object' && tool !== null && isLangChainTool(tool)
      ? convertToOpenAITool(tool).function
      : readSpec(tool);
  return {
    name,
    ...(description !== undefined && { description }),
    parameters: { ...(isInteropZodSchema(parameters) ? toJsonSchema(parameters) : parameters) },
  };
}

type Spec = {
  readonly name?: unknown;
  readonly description?: string;
  readonly parameters?: object;
  readonly input_schema?: object;
};

/** Reads a tool that is a plain object: OpenAI's form, the content of its `function`, or Anthropic's form. */
function readSpec(tool: unknown): {
  readonly name: string;
  readonly description?: string;
  readonly parameters: object;
} {
  const outer = (tool ?? {}) as Spec & { readonly function?: Spec };
  const spec = outer.function ?? outer;
  const parameters = spec.parameters ?? spec.input_schema ?? (outer.function === undefined ? undefined : {});
  if (typeof spec.name === 'string' && typeof parameters === 'object') {
    return { name: spec.name, ...(spec.description !== undefined && { description: spec.description }), parameters };
  }
  throw new EngineError(
    'bad_request',
    `The tool ${JSON.stringify(tool)?.slice(0, 200)} cannot be called by the model. Use tool(...), or { name, description, schema }, or OpenAI's or Anthropic's form of a function.`,
  );
}

const choices = { auto: 'auto', none: 'none', required: 'required', any: 'required' } as const;

function toToolChoice(choice: TunedCallOptions['tool_choice']): ToolChoice | undefined {
  if (choice === undefined || choice === null) return undefined;
  if (typeof choice === 'string')
    return Object.hasOwn(choices, choice) ? choices[choice as keyof typeof choices] : { name: choice };
  const name: unknown = choice['function']?.name ?? choice['name'];
  if (typeof name === 'string') return { name };
  const type: unknown = choice['type'];
  if (typeof type === 'string' && Object.hasOwn(choices, type)) return choices[type as keyof typeof choices];
  throw new EngineError(
    'bad_request',
    `tool_choice ${JSON.stringify(choice)} is not supported. Use auto, none, any, or a tool's name.`,
  );
}

type WireFormat = {
  readonly type?: unknown;
  readonly schema?: Json;
  readonly json_schema?: { readonly name?: string; readonly description?: string; readonly schema?: Json };
};
type Json = Readonly<Record<string, unknown>>;

/** Reads the schema from `json_schema`, or from the field `schema` next to the type, which some servers use. */
function toResponseFormat({ response_format: format }: TunedCallOptions): ResponseFormat | undefined {
  if (format === undefined || format === null) return undefined;
  const { type, json_schema: wanted, schema = wanted?.schema } = format as WireFormat;
  if (type === 'text') return undefined;
  if (type === 'json_object' && schema === undefined) return { type };
  if ((type === 'json_schema' || type === 'json_object') && typeof schema === 'object') {
    const { name = 'answer', description } = wanted ?? {};
    return { type: 'json_schema', name, ...(description !== undefined && { description }), schema };
  }
  throw new EngineError(
    'bad_request',
    `response_format ${JSON.stringify(format)} is not supported. Use { type: 'text' }, { type: 'json_object' } or { type: 'json_schema', json_schema: { name, schema } }.`,
  );
}

/** Reads sampling options under all names that LangChain's own models use. */
export function toSamplingOptions(options: TunedCallOptions, defaults: SamplingOptions): SamplingOptions {
  const { temperature, seed, stop } = options;
  const topP = options.topP ?? options.top_p;
  const topK = options.topK ?? options.top_k;
  const maxTokens =
    options.maxTokens ??
    options.max_tokens ??
    options.maxCompletionTokens ??
    options.max_completion_tokens ??
    options.maxOutputTokens;
  return {
    ...defaults,
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(topK !== undefined && { topK }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(seed !== undefined && { seed }),
    ...(stop !== undefined && { stop: [stop].flat() }),
  };
}
