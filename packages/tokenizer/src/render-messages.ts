import {
  type ChatMessage,
  EngineError,
  type JsonObject,
  type ToolCall,
  toErrorMessage,
  type ToolSpec,
} from '@agentjet/core';
import type { RenderOptions } from './contract.js';
import type { TemplateFamily } from './families/template-family.js';
import { formatFixedDate } from './fixed-date.js';
import { createPythonTemplate } from './python-template.js';
import { createVerbatimArguments } from './verbatim-arguments.js';

export type Render = (messages: readonly JsonObject[], options: RenderOptions) => string;

/** Compiles the template. Throws the parser's SyntaxError. */
export function compileTemplate(source: string, variables: JsonObject): Render {
  const template = createPythonTemplate(
    source.includes('strftime_now') ? `{% set strftime_now = fixed_date %}${source}` : source,
  );
  return (messages, { tools, addGenerationPrompt }) =>
    template.render({
      ...variables,
      fixed_date: formatFixedDate,
      messages,
      tools: tools === undefined || tools.length === 0 ? null : tools.map(toTemplateTool),
      documents: null,
      add_generation_prompt: addGenerationPrompt,
    });
}

function toTemplateTool({ name, description, parameters }: ToolSpec): JsonObject {
  return { type: 'function', function: { name, ...(description === undefined ? {} : { description }), parameters } };
}

type ToArguments = (call: ToolCall) => unknown;

function toTemplateMessage(message: ChatMessage, toArguments: ToArguments): JsonObject {
  if (message.role === 'tool') {
    const { role, content, toolCallId, name } = message;
    return { role, content, tool_call_id: toolCallId, ...(name === undefined ? {} : { name }) };
  }
  if (message.role !== 'assistant') return message;
  const { role, content, reasoning, toolCalls = [], name } = message;
  const calls = toolCalls.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: toArguments(call) },
  }));
  return {
    role,
    content,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(name === undefined ? {} : { name }),
  };
}

/**
 * Returns the arguments of a call. Some providers send "" for a call without arguments. It is replaced by {}, because
 * the JSON of the prompt would otherwise be invalid.
 */
function writtenArguments({ arguments: written }: ToolCall): string {
  return written.trim() === '' ? '{}' : written;
}

function renderVerbatim(render: Render, messages: readonly ChatMessage[], options: RenderOptions): string {
  const verbatim = createVerbatimArguments(messages);
  const shown = messages.map((message) => toTemplateMessage(message, (call) => verbatim.hide(writtenArguments(call))));
  return verbatim.restore(render(shown, options));
}

/**
 * Renders for templates that iterate over the arguments. They get the arguments as a parsed object and print it in
 * their own way.
 */
function renderParsed(render: Render, messages: readonly ChatMessage[], options: RenderOptions): string {
  const shown = messages.map((message) =>
    toTemplateMessage(message, (call): unknown => JSON.parse(writtenArguments(call))),
  );
  return render(shown, options);
}

type WriteCalls = TemplateFamily['writeCalls'];

/** Ways to print a conversation. A way is tried if the template refuses the ways before it. */
const ways = [
  renderVerbatim,
  renderParsed,
  (render: Render, messages: readonly ChatMessage[], options: RenderOptions, writeCalls: WriteCalls): string => {
    if (writeCalls === undefined || !messages.some(hasSeveralCalls)) throw new Error('There is nothing to write.');
    return renderVerbatim(
      render,
      messages.map((message) => toWritten(message, writeCalls)),
      options,
    );
  },
];

function hasSeveralCalls(message: ChatMessage): boolean {
  return message.role === 'assistant' && (message.toolCalls ?? []).length > 1;
}

/** Writes several calls as text, as the model does, even if its template supports only one call per answer. */
function toWritten(message: ChatMessage, writeCalls: NonNullable<WriteCalls>): ChatMessage {
  if (message.role !== 'assistant' || !hasSeveralCalls(message)) return message;
  const { toolCalls = [], content, ...others } = message;
  return { ...others, content: [writeCalls(toolCalls), content.trim()].filter((text) => text !== '').join(' ') };
}

export function renderMessages(
  render: Render,
  messages: readonly ChatMessage[],
  options: RenderOptions,
  writeCalls: WriteCalls,
): string {
  const failures: unknown[] = [];
  for (const way of ways) {
    try {
      return way(render, messages, options, writeCalls);
    } catch (failure) {
      failures.push(failure);
    }
  }
  // The first failure is reported, because it is the template's reason to refuse this conversation. The others only
  // show that other forms are refused too.
  const [cause] = failures;
  const repair = messages.some(hasSeveralCalls)
    ? "Send messages in the order and roles that the model's template accepts. If it accepts one tool call for each answer, ask for one at a time (parallel_tool_calls: false)."
    : "Send messages in the order and roles that the model's template accepts.";
  throw new EngineError(
    'bad_request',
    `The chat template cannot render this conversation: ${toErrorMessage(cause)}. ${repair}`,
    { cause },
  );
}
