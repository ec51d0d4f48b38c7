import type { ChatMessage, ChatRequest, ResponseFormat, SamplingOptions, ToolCall, ToolChoice, ToolSpec } from '@agentjet/core';
import { z } from 'zod';
import { emptyParameters, jsonObject, onlyNeutral, toText } from '../parse-body.js';

const textPart = z.looseObject({ type: z.string(), text: z.string().optional() });
const content = z.union([z.string(), z.array(textPart)]);
const wireToolCall = z.looseObject({
  id: z.string(),
  type: z.literal('function').optional(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});
const assistantMessage = z.looseObject({
  role: z.literal('assistant'),
  content: content.nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  tool_calls: z.array(wireToolCall).nullish(),
});
const message = z.discriminatedUnion('role', [
  assistantMessage,
  z.looseObject({ role: z.enum(['system', 'developer']), content }),
  z.looseObject({ role: z.literal('user'), content, name: z.string().optional() }),
  z.looseObject({ role: z.literal('tool'), content, tool_call_id: z.string() }),
]);
type WireMessage = z.infer<typeof message>;

const wireTool = z.object({
  type: z.literal('function'),
  function: z.looseObject({ name: z.string(), description: z.string().nullish(), parameters: jsonObject.nullish() }),
});
const wireToolChoice = z.union([z.enum(['auto', 'none', 'required']), z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) })]);
const wireFormat = z.discriminatedUnion('type', [
  z.object({ type: z.enum(['text', 'json_object']) }),
  z.object({ type: z.literal('json_schema'), json_schema: z.looseObject({ name: z.string(), schema: jsonObject.optional() }) }),
]);

/** Everything of the Chat Completions API that this server honours; the rest is refused by name. */
export const chatCompletionSchema = z.strictObject({
  model: z.string(),
  messages: z.array(message).min(1),
  tools: z.array(wireTool).nullish(),
  tool_choice: wireToolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: wireFormat.nullish(),
  temperature: z.number().min(0).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.number().int().min(-1).nullish(),
  max_tokens: z.number().int().positive().nullish(),
  max_completion_tokens: z.number().int().positive().nullish(),
  stop: z.union([z.string().min(1), z.array(z.string().min(1)).max(16)]).nullish(),
  seed: z.number().int().nullish(),
  n: z.number().int().min(1).max(128).nullish(),
  logprobs: z.boolean().nullish(),
  modalities: onlyNeutral(null, ['text']).optional(),
  top_logprobs: onlyNeutral(null, 0).optional(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  frequency_penalty: onlyNeutral(null, 0).optional(),
  presence_penalty: onlyNeutral(null, 0).optional(),
  logit_bias: onlyNeutral(null, {}).optional(),
  // Labels that change no token.
  user: z.string().nullish(),
  metadata: z.unknown().optional(),
  store: z.boolean().nullish(),
  service_tier: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  prompt_cache_key: z.string().nullish(),
});
export type ChatCompletionBody = z.infer<typeof chatCompletionSchema>;

export function toChatRequest(body: ChatCompletionBody, requestId: string | undefined): ChatRequest {
  const tools = body.tools?.map(toToolSpec);
  const toolChoice = body.tool_choice === null || body.tool_choice === undefined ? undefined : toToolChoice(body.tool_choice);
  const responseFormat = toResponseFormat(body.response_format);
  return {
    messages: body.messages.map(toChatMessage),
    sampling: toSampling(body),
    ...(tools !== undefined && tools.length > 0 && { tools }),
    ...(toolChoice !== undefined && { toolChoice }),
    ...(body.parallel_tool_calls === false && { parallelToolCalls: false }),
    ...(responseFormat !== undefined && { responseFormat }),
    ...(requestId !== undefined && { requestId }),
  };
}

function toChatMessage(wire: WireMessage): ChatMessage {
  switch (wire.role) {
    case 'assistant':
      return toAssistantMessage(wire);
    case 'user':
      return { role: 'user', content: toText(wire.content), ...(wire.name !== undefined && { name: wire.name }) };
    case 'tool':
      return { role: 'tool', content: toText(wire.content), toolCallId: wire.tool_call_id };
    default:
      return { role: 'system', content: toText(wire.content) };
  }
}

function toAssistantMessage(wire: z.infer<typeof assistantMessage>): ChatMessage {
  const reasoning = wire.reasoning_content ?? wire.reasoning;
  const toolCalls = wire.tool_calls?.map((call): ToolCall => ({ id: call.id, name: call.function.name, arguments: call.function.arguments }));
  return {
    role: 'assistant',
    content: toText(wire.content),
    ...(typeof reasoning === 'string' && reasoning !== '' && { reasoning }),
    ...(toolCalls !== undefined && toolCalls.length > 0 && { toolCalls }),
  };
}

function toToolSpec({ function: spec }: z.infer<typeof wireTool>): ToolSpec {
  return {
    name: spec.name,
    ...(typeof spec.description === 'string' && { description: spec.description }),
    parameters: spec.parameters ?? emptyParameters,
  };
}

function toToolChoice(choice: z.infer<typeof wireToolChoice>): ToolChoice {
  return typeof choice === 'string' ? choice : { name: choice.function.name };
}

function toResponseFormat(format: ChatCompletionBody['response_format']): ResponseFormat | undefined {
  if (format === null || format === undefined) return undefined;
  if (format.type !== 'json_schema') return { type: format.type };
  return { type: 'json_schema', name: format.json_schema.name, schema: format.json_schema.schema ?? {} };
}

function toSampling(body: ChatCompletionBody): SamplingOptions {
  const maxTokens = body.max_completion_tokens ?? body.max_tokens;
  const stop = typeof body.stop === 'string' ? [body.stop] : body.stop;
  return {
    ...(typeof body.temperature === 'number' && { temperature: body.temperature }),
    ...(typeof body.top_p === 'number' && { topP: body.top_p }),
    ...(typeof body.top_k === 'number' && { topK: body.top_k }),
    ...(typeof maxTokens === 'number' && { maxTokens }),
    ...(stop !== null && stop !== undefined && { stop }),
    ...(typeof body.seed === 'number' && { seed: body.seed }),
  };
}
