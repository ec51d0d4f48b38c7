import type { AssistantMessage, ChatMessage, ChatRequest, ResponseFormat, ToolCall, ToolSpec } from '@agentjet/core';
import { z } from 'zod';
import { customFields, toCustomArguments, toCustomSpec } from './custom-tools.js';
import {
  content,
  functionFields,
  jsonObject,
  labelFields,
  samplingFields,
  streamFields,
  toSampling,
  toText,
  toToolSpec,
} from './fields.js';
import { toAnswerReasoning, toAnswerText } from './others-answers.js';

const functionCall = z.looseObject({
  id: z.string(),
  type: z.literal('function').optional(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});
const customCall = z.looseObject({
  id: z.string(),
  type: z.literal('custom'),
  custom: z.looseObject({ name: z.string(), input: z.string() }),
});
const toolCall = z.union([functionCall, customCall]);
const assistantMessage = z.looseObject({
  role: z.literal('assistant'),
  content: content.nullish(),
  refusal: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  tool_calls: z.array(toolCall).nullish(),
});
const message = z.discriminatedUnion('role', [
  assistantMessage,
  z.looseObject({ role: z.enum(['system', 'developer']), content }),
  z.looseObject({ role: z.literal('user'), content, name: z.string().nullish() }),
  z.looseObject({ role: z.literal('tool'), content, tool_call_id: z.string() }),
]);

const tool = z.discriminatedUnion('type', [
  z.object({ type: z.literal('function'), function: z.looseObject(functionFields) }),
  z.object({ type: z.literal('custom'), custom: z.looseObject(customFields) }),
]);
const named = z.looseObject({ name: z.string() });
const toolChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) }),
  z.object({ type: z.literal('custom'), custom: z.object({ name: z.string() }) }),
  z.object({
    type: z.literal('allowed_tools'),
    allowed_tools: z.object({
      mode: z.enum(['auto', 'required']),
      tools: z.array(
        z.union([
          z.looseObject({ function: named }).transform((allowed) => allowed.function),
          z.looseObject({ custom: named }).transform(({ custom }) => custom),
        ]),
      ),
    }),
  }),
]);
const responseFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  // Some other servers accept a schema here, so this one does too.
  z.object({ type: z.literal('json_object'), schema: jsonObject.nullish() }),
  z
    .object({
      type: z.literal('json_schema'),
      json_schema: z
        .looseObject({ name: z.string(), description: z.string().nullish(), schema: jsonObject.nullish() })
        .optional(),
      schema: jsonObject.nullish(),
    })
    .refine(({ json_schema: named, schema }) => named !== undefined || typeof schema === 'object', {
      path: ['json_schema'],
      message: 'is missing; send { name, schema }',
    }),
]);

/**
 * All parameters of the Chat Completions API that are honoured. The table in core's PARAMETERS.md says which others are
 * ignored. All the rest are refused.
 */
export const chatCompletionSchema = z.strictObject({
  model: z.string(),
  messages: z.array(message).min(1),
  tools: z.array(tool).optional(),
  tool_choice: toolChoice.optional(),
  parallel_tool_calls: z.boolean().optional(),
  response_format: responseFormat.optional(),
  max_completion_tokens: z.number().int().positive().optional(),
  n: z.number().int().min(1).max(128).optional(),
  logprobs: z.boolean().optional(),
  chat_template_kwargs: jsonObject.optional(),
  ...samplingFields,
  ...streamFields,
  ...labelFields,
});
export type ChatCompletionBody = z.infer<typeof chatCompletionSchema>;

/** Converts the body of a request. Throws ApiError 400 for content that is not text. */
export function toChatRequest(body: ChatCompletionBody): ChatRequest {
  const tools = (body.tools ?? []).map((given) =>
    given.type === 'custom' ? toCustomSpec(given.custom) : toToolSpec(given.function),
  );
  return {
    messages: body.messages.map(toChatMessage),
    sampling: toSampling({ ...body, max_tokens: body.max_completion_tokens ?? body.max_tokens }),
    ...chooseTools(tools, body.tool_choice),
    ...(body.parallel_tool_calls === false && { parallelToolCalls: false }),
    ...(body.response_format !== undefined && { responseFormat: toResponseFormat(body.response_format) }),
  };
}

function toChatMessage(wire: z.infer<typeof message>): ChatMessage {
  switch (wire.role) {
    case 'assistant':
      return toAssistantMessage(wire);
    case 'user':
      return { role: 'user', content: toText(wire.content), ...(typeof wire.name === 'string' && { name: wire.name }) };
    case 'tool':
      return { role: 'tool', content: toText(wire.content), toolCallId: wire.tool_call_id };
    default:
      return { role: 'system', content: toText(wire.content) };
  }
}

function toAssistantMessage(wire: z.infer<typeof assistantMessage>): AssistantMessage {
  const reasoning = wire.reasoning_content ?? wire.reasoning ?? toAnswerReasoning(wire.content);
  const toolCalls = (wire.tool_calls ?? []).map(
    (call): ToolCall =>
      call.type === 'custom'
        ? { id: call.id, name: call.custom.name, arguments: toCustomArguments(call.custom.input) }
        : { id: call.id, name: call.function.name, arguments: call.function.arguments },
  );
  return {
    role: 'assistant',
    content: toAnswerText(wire.content) + (wire.refusal ?? ''),
    ...(reasoning !== '' && { reasoning }),
    ...(toolCalls.length > 0 && { toolCalls }),
  };
}

/** Returns the names of the custom tools. */
export function customNames({ tools = [] }: Pick<ChatCompletionBody, 'tools'>): ReadonlySet<string> {
  return new Set(tools.flatMap((given) => (given.type === 'custom' ? [given.custom.name] : [])));
}

/** Returns the tools that the model sees: all tools, or those that the request allows. */
function chooseTools(
  tools: readonly ToolSpec[],
  choice: z.infer<typeof toolChoice> | undefined,
): Pick<ChatRequest, 'tools' | 'toolChoice'> {
  const all = tools.length > 0 ? { tools } : {};
  if (choice === undefined) return all;
  if (typeof choice === 'string') return { ...all, toolChoice: choice };
  if (choice.type === 'custom') return { ...all, toolChoice: { name: choice.custom.name } };
  if (choice.type === 'function') return { ...all, toolChoice: { name: choice.function.name } };
  const allowed = new Set(choice.allowed_tools.tools.map(({ name }) => name));
  return { tools: tools.filter(({ name }) => allowed.has(name)), toolChoice: choice.allowed_tools.mode };
}

function toResponseFormat(format: z.infer<typeof responseFormat>): ResponseFormat {
  if (format.type === 'text') return { type: 'text' };
  const { name, description, schema } = (format.type === 'json_schema' ? format.json_schema : undefined) ?? {};
  const given = schema ?? format.schema;
  if (format.type === 'json_object' && (given === undefined || given === null)) return { type: 'json_object' };
  return {
    type: 'json_schema',
    name: name ?? 'answer',
    ...(typeof description === 'string' && { description }),
    schema: given ?? {},
  };
}
