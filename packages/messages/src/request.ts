import { jsonObject, samplingFields, toAnswerText, toSampling, toText, ApiError } from '@agentjet/chat-completions';
import { type ChatMessage, type ChatRequest, toArgumentText, type ToolCall } from '@agentjet/core';
import { isServerTool } from '@agentjet/core/parameters';
import { z } from 'zod';
import { toDocumentText } from './document-text.js';

const textBlock = z.looseObject({ type: z.literal('text'), text: z.string() });
const toolUse = z.looseObject({ type: z.literal('tool_use'), id: z.string(), name: z.string(), input: z.unknown() });
const toolResult = z.looseObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).optional(),
});
const thinking = z.looseObject({ type: z.literal('thinking'), thinking: z.string() });
const other = z.looseObject({ type: z.string() });
const block = z.union([textBlock, toolUse, toolResult, thinking, other]);
type Block = z.infer<typeof block>;
const message = z.looseObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string(), z.array(block)]),
});
const tool = z.looseObject({
  name: z.string(),
  description: z.string().nullish(),
  input_schema: jsonObject.optional(),
  type: z.string().nullish(),
});

const outputFormat = z.looseObject({ type: z.literal('json_schema'), schema: jsonObject });

/**
 * All parameters of Anthropic's Messages API that this server honours. The table in core's PARAMETERS.md says which
 * others are ignored. All the rest are refused.
 */
export const messagesSchema = z.strictObject({
  model: z.string(),
  messages: z.array(message).min(1),
  max_tokens: z.number().int().positive(),
  system: z.union([z.string(), z.array(textBlock)]).optional(),
  tools: z.array(tool).optional(),
  tool_choice: z
    .looseObject({
      type: z.enum(['auto', 'any', 'tool', 'none']),
      name: z.string().optional(),
      disable_parallel_tool_use: z.boolean().optional(),
    })
    .optional(),
  temperature: samplingFields.temperature,
  top_p: samplingFields.top_p,
  top_k: samplingFields.top_k,
  stop_sequences: z.array(z.string().min(1)).optional(),
  stream: z.boolean().optional(),
  chat_template_kwargs: jsonObject.optional(),
  output_config: z.looseObject({ format: outputFormat.nullish() }).optional(),
});

/** The schema of a request that only counts the tokens of its prompt. It has no `max_tokens`. */
export const countTokensSchema = messagesSchema.omit({ max_tokens: true });
export type MessagesBody = z.infer<typeof messagesSchema>;

export function fromMessagesBody(body: MessagesBody, requestId: string | undefined): ChatRequest {
  const tools = (body.tools ?? []).filter((tool) => !isServerTool('messages', tool.type)).map(toToolSpec);
  const system = typeof body.system === 'string' ? body.system : (body.system ?? []).map(({ text }) => text).join('\n');
  return {
    messages: [
      ...(system === '' ? [] : [{ role: 'system', content: system } as const]),
      ...body.messages.flatMap(toMessages),
    ],
    ...(requestId !== undefined && { requestId }),
    sampling: toSampling({ ...body, stop: body.stop_sequences }),
    ...(tools.length > 0 && { tools }),
    ...toToolChoice(body.tool_choice),
    ...(body.tool_choice?.disable_parallel_tool_use === true && { parallelToolCalls: false }),
    ...toResponseFormat(body.output_config),
  };
}

function toToolSpec(wire: z.infer<typeof tool>): NonNullable<ChatRequest['tools']>[number] {
  if (wire.input_schema === undefined) {
    throw new ApiError(
      400,
      'unsupported_tool',
      `Tool '${wire.name}' of type '${wire.type ?? ''}' is not supported. Only tools with an input_schema are supported, because the agent runs them itself.`,
      'tools',
    );
  }
  return {
    name: wire.name,
    ...(typeof wire.description === 'string' && { description: wire.description }),
    parameters: wire.input_schema,
  };
}

function toToolChoice(choice: MessagesBody['tool_choice']): Pick<ChatRequest, 'toolChoice'> {
  if (choice === undefined) return {};
  if (choice.type === 'any') return { toolChoice: 'required' };
  if (choice.type === 'tool') return { toolChoice: { name: choice.name ?? '' } };
  return { toolChoice: choice.type };
}

function toResponseFormat(config: MessagesBody['output_config']): Pick<ChatRequest, 'responseFormat'> {
  const format = config?.format;
  return format === undefined || format === null
    ? {}
    : { responseFormat: { type: 'json_schema', name: 'answer', schema: format.schema } };
}

/**
 * Converts one Anthropic message. The tool results in a user message become tool messages, which come before its text.
 */
function toMessages({ role, content }: z.infer<typeof message>): ChatMessage[] {
  const blocks: readonly Block[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  if (role === 'assistant') return [toAssistant(blocks)];
  const results = blocks.flatMap((entry): ChatMessage[] => {
    const parsed = toolResult.safeParse(entry);
    return parsed.success
      ? [{ role: 'tool', toolCallId: parsed.data.tool_use_id, content: textOf(parsed.data.content ?? '') }]
      : [];
  });
  const rest = blocks.filter(({ type }) => type !== 'tool_result');
  return rest.length === 0 ? results : [...results, { role, content: textOf(rest) }];
}

function toAssistant(blocks: readonly Block[]): ChatMessage {
  const toolCalls = blocks.flatMap((entry): ToolCall[] => {
    const parsed = toolUse.safeParse(entry);
    return parsed.success
      ? [{ id: parsed.data.id, name: parsed.data.name, arguments: toArgumentText(parsed.data.input) }]
      : [];
  });
  const reasoning = blocks.flatMap((entry) => {
    const parsed = thinking.safeParse(entry);
    return parsed.success ? [parsed.data.thinking] : [];
  });
  const content = toAnswerText(blocks.map((entry) => ({ ...entry, text: entry['text'] ?? toDocumentText(entry) })));
  return {
    role: 'assistant',
    content,
    ...(reasoning.length > 0 && { reasoning: reasoning.join('') }),
    ...(toolCalls.length > 0 && { toolCalls }),
  };
}

function textOf(content: string | readonly Block[]): string {
  if (typeof content === 'string') return content;
  const parts = content.map((entry) => {
    const text: unknown = entry['text'] ?? toDocumentText(entry);
    return { type: entry.type, text: typeof text === 'string' ? text : undefined };
  });
  return toText(parts);
}
