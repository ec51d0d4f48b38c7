import { textOf } from './exported-traces.js';
import { readFeedback, readMessage, upToQuestion, type TraceMessage, type Trace } from './trace.js';

/**
 * Reads model calls and replies of agents as traces, by the attributes of OpenTelemetry's `gen_ai.*` conventions, of
 * OpenLLMetry (`gen_ai.prompt.0.content`), of OpenInference (`llm.input_messages.0.message.content`), or of
 * AgentScope's functions. If calls repeat a conversation, only the newest call is used, because it contains the others.
 */

export type SpanAttributes = Readonly<Record<string, unknown>>;

export type Span = {
  readonly trace: string;
  readonly id: string;
  readonly name: string;
  /** Used if no attribute names the conversation. */
  readonly conversation?: string | undefined;
  /** Attributes under names with dots, not nested. */
  readonly attributes: SpanAttributes;
};

type Read = { readonly span: Span; readonly trace: Trace; readonly question: string };

/**
 * Returns every span that has a question and an answer in words. If a trace contains an agent's reply, returns only
 * that reply.
 */
export function readSpans(spans: readonly Span[]): readonly Trace[] {
  const byTrace = new Map<string, Read[]>();
  for (const [at, span] of spans.entries()) {
    const trace = readSpan(span);
    if (trace === undefined) continue;
    const key = span.trace === '' ? `span ${at}` : span.trace;
    byTrace.set(key, [...(byTrace.get(key) ?? []), { span, trace, question: trace.messages.at(-1)?.content ?? '' }]);
  }
  return [...byTrace.values()].flatMap(choose);
}

/**
 * Returns the outermost reply of an agent, or all spans if there is no reply. A reply ends after everything that it
 * calls, so the last reply is the outermost. Its messages are those of a model call for the same question, because only
 * the call has the earlier messages.
 */
function choose(all: readonly Read[]): readonly Trace[] {
  const reply = all.findLast(({ span }) => isReply(span));
  if (reply === undefined) return all.map(({ trace }) => trace);
  const call = all.findLast(({ span, question }) => !isReply(span) && question === reply.question);
  return [{ ...reply.trace, ...(call !== undefined && { messages: call.trace.messages }) }];
}

function isReply({ name, attributes }: Span): boolean {
  return attributes['gen_ai.operation.name'] === 'invoke_agent' || /^invoke_agent\b|\.reply$/.test(name);
}

function readSpan(span: Span): Trace | undefined {
  const { attributes } = span;
  const messages = upToQuestion([...systemOf(attributes), ...messagesOf(span, 'input')]);
  const answer = messagesOf(span, 'output')
    .filter(({ role }) => role === 'assistant')
    .at(-1)?.content;
  if (messages === undefined || answer === undefined) return undefined;
  const conversation =
    textOf(attributes['gen_ai.conversation.id'] ?? attributes['session.id']) ?? span.conversation ?? span.trace;
  const id = textOf(attributes['gen_ai.response.id']) ?? (span.id === '' ? span.trace : span.id);
  return { id, conversation, messages, answer, feedback: feedbackOf(attributes) };
}

function systemOf(attributes: SpanAttributes): readonly TraceMessage[] {
  const parts = fromJson(attributes['gen_ai.system_instructions']);
  const message = readMessage({ role: 'system', content: parts });
  return message === undefined ? [] : [message];
}

function messagesOf(span: Span, side: 'input' | 'output'): readonly TraceMessage[] {
  const { attributes } = span;
  const whole = fromJson(attributes[`gen_ai.${side}.messages`]);
  if (whole !== undefined) return [whole].flat().flatMap((each: unknown) => readMessage(each) ?? []);
  const prefixes = [side === 'input' ? 'gen_ai.prompt' : 'gen_ai.completion', `llm.${side}_messages`];
  for (const prefix of prefixes) {
    const numbered = numberedMessages(attributes, prefix, side);
    if (numbered.length > 0) return numbered;
  }
  const content = textOf(attributes[`${side}.value`]);
  return content === undefined ? [] : [{ role: side === 'input' ? 'user' : 'assistant', content }];
}

/** Reads `<prefix>.0.content` and `<prefix>.0.message.content`, with `role` next to it. */
function numberedMessages(
  attributes: SpanAttributes,
  prefix: string,
  side: 'input' | 'output',
): readonly TraceMessage[] {
  const messages: TraceMessage[] = [];
  for (let at = 0; ; at++) {
    const part = (name: string): unknown =>
      attributes[`${prefix}.${at}.${name}`] ?? attributes[`${prefix}.${at}.message.${name}`];
    const [role, content] = [part('role'), part('content')];
    if (role === undefined && content === undefined) return messages;
    const message = readMessage({ role: role ?? (side === 'output' ? 'assistant' : 'user'), content });
    if (message !== undefined) messages.push(message);
  }
}

function feedbackOf(attributes: SpanAttributes): Trace['feedback'] {
  const named = ['thumb', 'score', 'correction'].map((name) => [name, attributes[`feedback.${name}`]] as const);
  return readFeedback(Object.fromEntries(named));
}

function fromJson(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
