import { EngineError, type AssistantMessage, type ChatMessage, type ChatRequest, type ResponseFormat, type SamplingOptions, type ToolCall, type ToolChoice, type ToolSpec } from '@agentjet/core';
import type { OpenAI } from 'openai';

type Body = OpenAI.ChatCompletionCreateParams;
type WireMessage = OpenAI.ChatCompletionMessageParam;

/** `body` is one that `checkBody` lets pass. */
export function toChatRequest(body: Body, requestId: string | undefined): ChatRequest {
  const tools = (body.tools ?? []).map(toToolSpec);
  const toolChoice = toToolChoice(body.tool_choice);
  const responseFormat = toResponseFormat(body.response_format);
  return {
    messages: body.messages.map(toChatMessage),
    sampling: toSampling(body),
    ...(tools.length > 0 && { tools }),
    ...(toolChoice !== undefined && { toolChoice }),
    ...(body.parallel_tool_calls === false && { parallelToolCalls: false }),
    ...(responseFormat !== undefined && { responseFormat }),
    ...(requestId !== undefined && { requestId }),
  };
}

/** How many answers are asked for: 0 to n-1. */
export function toChoices({ n = 1 }: Body): readonly number[] {
  return Array.from({ length: n ?? 1 }, (_none, choice) => choice);
}

function toChatMessage(message: WireMessage): ChatMessage {
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: toText(message.content) };
    case 'user':
      return { role: 'user', content: toText(message.content), ...(message.name !== undefined && { name: message.name }) };
    case 'tool':
      return { role: 'tool', content: toText(message.content), toolCallId: message.tool_call_id };
    case 'assistant':
      return toAssistantMessage(message);
    default:
      throw badRequest(`A message of role '${message.role}' is not supported. Use system, developer, user, assistant or tool.`);
  }
}

function toAssistantMessage(message: OpenAI.ChatCompletionAssistantMessageParam): AssistantMessage {
  const { reasoning_content: reasoning } = message as { reasoning_content?: unknown };
  const toolCalls = (message.tool_calls ?? []).map(toToolCall);
  return {
    role: 'assistant',
    content: toText(message.content),
    ...(typeof reasoning === 'string' && reasoning !== '' && { reasoning }),
    ...(toolCalls.length > 0 && { toolCalls }),
  };
}

function toToolCall(call: OpenAI.ChatCompletionMessageToolCall): ToolCall {
  if (call.type !== 'function') throw badRequest(`A tool call of type '${call.type}' is not supported. Use functions.`);
  return { id: call.id, name: call.function.name, arguments: call.function.arguments };
}

type Part = { readonly type: string; readonly text?: unknown; readonly refusal?: unknown };

function toText(content: string | readonly Part[] | null | undefined): string {
  if (content === null || content === undefined) return '';
  if (typeof content === 'string') return content;
  return content
    .map(({ type, text, refusal }) => {
      const shown = text ?? refusal;
      if (typeof shown === 'string') return shown;
      throw badRequest(`Content of type '${type}' is not supported: the model reads text only.`);
    })
    .join('');
}

function toToolSpec(tool: OpenAI.ChatCompletionTool): ToolSpec {
  if (tool.type !== 'function') throw badRequest(`A tool of type '${tool.type}' is not supported. Use functions.`);
  const { name, description, parameters } = tool.function;
  return { name, ...(description !== undefined && { description }), parameters: parameters ?? { type: 'object', properties: {} } };
}

function toToolChoice(choice: Body['tool_choice']): ToolChoice | undefined {
  if (choice === undefined || choice === null || typeof choice === 'string') return choice ?? undefined;
  if (choice.type === 'function') return { name: choice.function.name };
  throw badRequest(`tool_choice of type '${choice.type}' is not supported. Use auto, none, required or a function.`);
}

function toResponseFormat(format: Body['response_format']): ResponseFormat | undefined {
  if (format === undefined || format === null) return undefined;
  if (format.type !== 'json_schema') return { type: format.type };
  return { type: 'json_schema', name: format.json_schema.name, schema: format.json_schema.schema ?? {} };
}

function toSampling(body: Body): SamplingOptions {
  const { top_k: topK } = body as { top_k?: number | null };
  const maxTokens = body.max_completion_tokens ?? body.max_tokens;
  const stop = typeof body.stop === 'string' ? [body.stop] : body.stop;
  return {
    ...(isSet(body.temperature) && { temperature: body.temperature }),
    ...(isSet(body.top_p) && { topP: body.top_p }),
    ...(isSet(topK) && { topK }),
    ...(isSet(maxTokens) && { maxTokens }),
    ...(isSet(stop) && { stop }),
    ...(isSet(body.seed) && { seed: body.seed }),
  };
}

function isSet<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined;
}

function badRequest(message: string): EngineError {
  return new EngineError('bad_request', message);
}
