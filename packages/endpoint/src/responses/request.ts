import {
  functionFields,
  jsonObject,
  labelFields,
  onlyNeutral,
  samplingFields,
  toSampling,
  toText,
  toToolSpec,
  WireError,
} from '@agentjet/chat-completions';
import type { ChatMessage, ChatRequest, ToolCall, ToolSpec } from '@agentjet/core';
import { z } from 'zod';

const parts = z.array(z.looseObject({ type: z.string(), text: z.string().optional() }));
const messageItem = z.looseObject({
  type: z.literal('message').optional(),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.union([z.string(), parts]),
});
const callItem = z.looseObject({
  type: z.literal('function_call'),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
});
const outputItem = z.looseObject({
  type: z.literal('function_call_output'),
  call_id: z.string(),
  output: z.union([z.string(), parts]),
});
const reasoningItem = z.looseObject({
  type: z.literal('reasoning'),
  summary: parts.optional(),
  content: parts.nullish(),
});
const item = z.union([callItem, outputItem, reasoningItem, messageItem], {
  error: ({ input }) =>
    `is no message, function call, result or reasoning of a kind that is known: ${JSON.stringify(input)?.slice(0, 200) ?? 'nothing'}`,
});
export type InputItem = z.infer<typeof item>;

const functionTool = z.looseObject({ type: z.literal('function'), ...functionFields });

const textFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.enum(['text', 'json_object']) }),
  z.looseObject({ type: z.literal('json_schema'), name: z.string(), schema: jsonObject }),
]);

/** Everything of the Responses API that this server honours; the rest is refused by name. */
export const responsesSchema = z.strictObject({
  model: z.string(),
  input: z.union([z.string(), z.array(item)]),
  instructions: z.string().optional(),
  previous_response_id: z.string().optional(),
  tools: z.array(z.looseObject({ type: z.string() })).optional(),
  tool_choice: z
    .union([z.enum(['auto', 'none', 'required']), z.object({ type: z.literal('function'), name: z.string() })])
    .optional(),
  parallel_tool_calls: z.boolean().optional(),
  temperature: samplingFields.temperature,
  top_p: samplingFields.top_p,
  max_output_tokens: samplingFields.max_tokens,
  text: z.looseObject({ format: textFormat.nullish() }).optional(),
  stream: z.boolean().optional(),
  background: onlyNeutral(false),
  truncation: onlyNeutral('disabled'),
  ...labelFields,
  // Hints that change no token.
  include: z.array(z.string()).optional(),
  reasoning: z.unknown().optional(),
  client_metadata: z.unknown().optional(),
  stream_options: z.unknown().optional(),
});
export type ResponsesBody = z.infer<typeof responsesSchema>;

export function toInputItems(body: ResponsesBody): readonly InputItem[] {
  return typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : body.input;
}

/** `items` are the stored items of earlier responses followed by this request's input. */
export function toChatRequest(body: ResponsesBody, items: readonly InputItem[], requestId: string): ChatRequest {
  const system: ChatMessage[] = body.instructions === undefined ? [] : [{ role: 'system', content: body.instructions }];
  const tools = (body.tools ?? []).map(toFunction);
  const choice = body.tool_choice;
  return {
    messages: [...system, ...toMessages(items)],
    requestId,
    sampling: toSampling({ ...body, max_tokens: body.max_output_tokens }),
    ...(tools.length > 0 && { tools }),
    ...(choice !== undefined && { toolChoice: typeof choice === 'string' ? choice : { name: choice.name } }),
    ...(body.parallel_tool_calls === false && { parallelToolCalls: false }),
    ...toResponseFormat(body),
  };
}

/** Items of one assistant turn (reasoning, text, calls) become one message again. */
function toMessages(items: readonly InputItem[]): ChatMessage[] {
  const messages: ChatMessage[] = [];
  let turn: { content: string; reasoning: string; toolCalls: ToolCall[] } | undefined;
  const flush = (): void => {
    if (turn !== undefined) messages.push(toAssistant(turn));
    turn = undefined;
  };
  for (const entry of items) {
    if (!isAssistantItem(entry)) {
      flush();
      messages.push(toInputMessage(entry));
      continue;
    }
    // A text after calls, or a reasoning after anything, starts the next turn.
    if (turn !== undefined && startsTurn(entry, turn)) flush();
    turn ??= { content: '', reasoning: '', toolCalls: [] };
    if (entry.type === 'function_call')
      turn.toolCalls.push({ id: entry.call_id, name: entry.name, arguments: entry.arguments });
    else if (entry.type === 'reasoning') turn.reasoning += toText(entry.content ?? entry.summary, 'input');
    else turn.content += toText(entry.content, 'input');
  }
  flush();
  return messages;
}

type AssistantItem = z.infer<typeof callItem> | z.infer<typeof reasoningItem> | z.infer<typeof messageItem>;

function isAssistantItem(entry: InputItem): entry is AssistantItem {
  return (
    entry.type === 'function_call' || entry.type === 'reasoning' || ('role' in entry && entry.role === 'assistant')
  );
}

function startsTurn(
  entry: AssistantItem,
  turn: { readonly content: string; readonly toolCalls: readonly ToolCall[] },
): boolean {
  if (entry.type === 'reasoning') return true;
  return entry.type !== 'function_call' && (turn.toolCalls.length > 0 || turn.content !== '');
}

function toAssistant({
  content,
  reasoning,
  toolCalls,
}: {
  content: string;
  reasoning: string;
  toolCalls: ToolCall[];
}): ChatMessage {
  return {
    role: 'assistant',
    content,
    ...(reasoning !== '' && { reasoning }),
    ...(toolCalls.length > 0 && { toolCalls }),
  };
}

function toInputMessage(entry: InputItem): ChatMessage {
  if (entry.type === 'function_call_output')
    return { role: 'tool', content: toText(entry.output, 'input'), toolCallId: entry.call_id };
  if ('role' in entry && typeof entry.role === 'string') {
    const content = toText(messageItem.parse(entry).content, 'input');
    return entry.role === 'user' ? { role: 'user', content } : { role: 'system', content };
  }
  throw new WireError(400, 'invalid_value', `Unsupported input item of type '${String(entry.type)}'.`, 'input');
}

function toFunction(tool: { readonly type: string }): ToolSpec {
  const parsed = functionTool.safeParse(tool);
  if (!parsed.success) {
    throw new WireError(
      400,
      'unsupported_tool',
      `Tools of type '${tool.type}' are not supported: only functions, which the agent runs itself.`,
      'tools',
    );
  }
  return toToolSpec(parsed.data);
}

function toResponseFormat(body: ResponsesBody): Pick<ChatRequest, 'responseFormat'> {
  const format = body.text?.format;
  if (format === undefined || format === null) return {};
  if (format.type !== 'json_schema') return { responseFormat: { type: format.type } };
  return { responseFormat: { type: 'json_schema', name: format.name, schema: format.schema } };
}
