import {
  isOthersItem,
  jsonObject,
  labelFields,
  samplingFields,
  toAnswerText,
  toCustomArguments,
  toSampling,
  toText,
  ApiError,
} from '@agentjet/chat-completions';
import type { ChatMessage, ChatRequest, ToolCall } from '@agentjet/core';
import { z } from 'zod';
import type { ResponseTools } from './tools.js';

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
  namespace: z.string().nullish(),
  arguments: z.string(),
});
const customCallItem = z.looseObject({
  type: z.literal('custom_tool_call'),
  call_id: z.string(),
  name: z.string(),
  namespace: z.string().nullish(),
  input: z.string(),
});
const outputItem = z.looseObject({
  type: z.enum(['function_call_output', 'custom_tool_call_output']),
  call_id: z.string(),
  output: z.union([z.string(), parts]),
});
const reasoningItem = z.looseObject({
  type: z.literal('reasoning'),
  summary: parts.optional(),
  content: parts.nullish(),
});
/** Tools that are listed among the messages, as Codex does by default. */
const toolsItem = z.looseObject({
  type: z.literal('additional_tools'),
  tools: z.array(z.looseObject({ type: z.string() })),
});
/** An item that describes what another provider's server did for its model, such as a web search. */
const othersItem = z.looseObject({ type: z.string().refine(isOthersItem), role: z.undefined().optional() });
const item = z.union([callItem, customCallItem, outputItem, reasoningItem, toolsItem, messageItem, othersItem]);
export type InputItem = z.infer<typeof item>;
/** A reference to an item of an earlier answer in this episode. */
const itemReference = z.strictObject({ type: z.literal('item_reference').optional(), id: z.string() });
const sentItem = z.union([...item.options, itemReference], {
  error: ({ input }) =>
    `is not a supported item: ${JSON.stringify(input)?.slice(0, 200) ?? 'nothing'}. Send messages, calls, results, reasoning or lists of tools`,
});

const textFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.enum(['text', 'json_object']) }),
  z.looseObject({
    type: z.literal('json_schema'),
    name: z.string(),
    description: z.string().nullish(),
    schema: jsonObject,
  }),
]);

const allowedTools = z.object({
  type: z.literal('allowed_tools'),
  mode: z.enum(['auto', 'required']),
  tools: z.array(z.looseObject({ type: z.string(), name: z.string().optional() })),
});

/**
 * All parameters of the Responses API that this server honours. The table in core's PARAMETERS.md says which others are
 * ignored. All the rest are refused.
 */
export const responsesSchema = z.strictObject({
  model: z.string(),
  input: z.union([z.string(), z.array(sentItem)]),
  instructions: z.string().optional(),
  previous_response_id: z.string().optional(),
  tools: z.array(z.looseObject({ type: z.string() })).optional(),
  tool_choice: z
    .union([
      z.enum(['auto', 'none', 'required']),
      z.object({ type: z.enum(['function', 'custom']), name: z.string(), namespace: z.string().nullish() }),
      allowedTools,
    ])
    .optional(),
  parallel_tool_calls: z.boolean().optional(),
  temperature: samplingFields.temperature,
  top_p: samplingFields.top_p,
  max_output_tokens: samplingFields.max_tokens,
  text: z.looseObject({ format: textFormat.nullish() }).optional(),
  stream: z.boolean().optional(),
  chat_template_kwargs: jsonObject.optional(),
  ...labelFields,
  include: z.array(z.string()).optional(),
  reasoning: z.looseObject({}).optional(),
  stream_options: z.unknown().optional(),
});
export type ResponsesBody = z.infer<typeof responsesSchema>;

/**
 * Returns the items of the request. `recall` looks up the stored item that a reference means. Throws ApiError 400 if
 * the item is not stored.
 */
export function toInputItems(
  { input }: ResponsesBody,
  recall: (id: string) => InputItem | undefined,
): readonly InputItem[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  return input.map((sent) => {
    const parsed = item.safeParse(sent);
    if (parsed.success) return parsed.data;
    const { id } = itemReference.parse(sent);
    const stored = recall(id);
    if (stored !== undefined) return stored;
    throw new ApiError(
      400,
      'item_not_found',
      `The item_reference '${id}' does not match an item that is stored in this episode. Send the item itself; items of requests with store: false are not kept.`,
      'input',
    );
  });
}

/**
 * Lists the tools of the request and the tools that its items add. The chat template shows all of them in one place.
 */
export function listTools(
  { tools = [] }: ResponsesBody,
  items: readonly InputItem[],
): NonNullable<ResponsesBody['tools']> {
  return [...tools, ...items.flatMap((entry) => (isToolsItem(entry) ? entry.tools : []))];
}

/** `items` are the stored items of earlier responses, followed by this request's input. */
export function fromResponsesBody(
  body: ResponsesBody,
  { items, tools, requestId }: { items: readonly InputItem[]; tools: ResponseTools; requestId: string },
): ChatRequest {
  const system: ChatMessage[] = body.instructions === undefined ? [] : [{ role: 'system', content: body.instructions }];
  return {
    messages: [...system, ...toMessages(items, tools)],
    requestId,
    sampling: toSampling({ ...body, max_tokens: body.max_output_tokens }),
    ...chooseTools(tools, body.tool_choice),
    ...(body.parallel_tool_calls === false && { parallelToolCalls: false }),
    ...toResponseFormat(body),
  };
}

function chooseTools(
  tools: ResponseTools,
  choice: ResponsesBody['tool_choice'],
): Pick<ChatRequest, 'tools' | 'toolChoice'> {
  const all = tools.specs.length > 0 ? { tools: tools.specs } : {};
  if (choice === undefined) return all;
  if (typeof choice === 'string') return { ...all, toolChoice: choice };
  if (choice.type !== 'allowed_tools')
    return { ...all, toolChoice: { name: tools.toShownName({ ...choice, namespace: choice.namespace ?? undefined }) } };
  const allowed = new Set(choice.tools.map(({ name }) => name));
  return { tools: tools.specs.filter(({ name }) => allowed.has(tools.toWireName(name).name)), toolChoice: choice.mode };
}

/** Joins the items of one assistant turn (reasoning, text, calls) into one message. */
function toMessages(items: readonly InputItem[], tools: ResponseTools): ChatMessage[] {
  const messages: ChatMessage[] = [];
  let turn: { content: string; reasoning: string; toolCalls: ToolCall[] } | undefined;
  const flush = (): void => {
    if (turn !== undefined) messages.push(toAssistant(turn));
    turn = undefined;
  };
  for (const entry of items.filter(isReadItem)) {
    if (!isAssistantItem(entry)) {
      flush();
      messages.push(toInputMessage(entry));
      continue;
    }
    // Text after calls, or reasoning after anything, starts the next turn.
    if (turn !== undefined && startsTurn(entry, turn)) flush();
    turn ??= { content: '', reasoning: '', toolCalls: [] };
    if (isCallItem(entry)) turn.toolCalls.push(toToolCall(entry, tools));
    else if (entry.type === 'reasoning') turn.reasoning += toText(entry.content ?? entry.summary, 'input');
    else turn.content += toAnswerText(entry.content);
  }
  flush();
  return messages;
}

function toToolCall({ call_id: id, name, namespace, ...call }: CallItem, tools: ResponseTools): ToolCall {
  const text = call.type === 'custom_tool_call' ? toCustomArguments(call.input) : call.arguments;
  return { id, name: tools.toShownName({ name, namespace: namespace ?? undefined }), arguments: text };
}

type CallItem = z.infer<typeof callItem> | z.infer<typeof customCallItem>;
type AssistantItem = CallItem | z.infer<typeof reasoningItem> | z.infer<typeof messageItem>;

function isAssistantItem(entry: ReadItem): entry is AssistantItem {
  return isCallItem(entry) || entry.type === 'reasoning' || ('role' in entry && entry.role === 'assistant');
}

type ReadItem = AssistantItem | z.infer<typeof outputItem>;

function isReadItem(entry: InputItem): entry is ReadItem {
  return !isToolsItem(entry) && !isOthersItem(entry.type);
}

function isToolsItem(entry: InputItem): entry is z.infer<typeof toolsItem> {
  return entry.type === 'additional_tools';
}

function isCallItem(entry: ReadItem): entry is CallItem {
  return entry.type === 'function_call' || entry.type === 'custom_tool_call';
}

function startsTurn(
  entry: AssistantItem,
  turn: { readonly content: string; readonly toolCalls: readonly ToolCall[] },
): boolean {
  if (entry.type === 'reasoning') return true;
  return !isCallItem(entry) && (turn.toolCalls.length > 0 || turn.content !== '');
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

function toInputMessage(entry: ReadItem): ChatMessage {
  if (entry.type === 'function_call_output' || entry.type === 'custom_tool_call_output')
    return { role: 'tool', content: toText(entry.output, 'input'), toolCallId: entry.call_id };
  if ('role' in entry && typeof entry.role === 'string') {
    const content = toText(messageItem.parse(entry).content, 'input');
    return entry.role === 'user' ? { role: 'user', content } : { role: 'system', content };
  }
  throw new ApiError(400, 'invalid_value', `Unsupported input item of type '${String(entry.type)}'.`, 'input');
}

function toResponseFormat(body: ResponsesBody): Pick<ChatRequest, 'responseFormat'> {
  const format = body.text?.format;
  if (format === undefined || format === null) return {};
  if (format.type !== 'json_schema') return { responseFormat: { type: format.type } };
  const { name, description, schema } = format;
  return {
    responseFormat: { type: 'json_schema', name, ...(typeof description === 'string' && { description }), schema },
  };
}
