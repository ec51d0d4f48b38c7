import { isJsonObject, type JsonObject } from '@agentjet/core';
import { textOf } from './exported-traces.js';
import { readFeedback, readMessage, upToQuestion, type Message, type Trace } from './trace.js';

/**
 * Model calls in OTLP as JSON, by the attributes of OpenTelemetry's `gen_ai.*` conventions, of OpenLLMetry (`gen_ai.prompt.0.content`)
 * or of OpenInference (`llm.input_messages.0.message.content`). Of a conversation that a call repeats, the newest call says it all.
 */

type Attributes = Readonly<Record<string, unknown>>;

/** Whether a JSON value is an export of traces. */
export function isOtlp(value: unknown): value is JsonObject {
  return isJsonObject(value) && Array.isArray(value['resourceSpans'] ?? value['resource_spans']);
}

/** Every call that has a question and an answer in words. */
export function readOtlpTraces(value: JsonObject): readonly Trace[] {
  return listSpans(value).flatMap((span) => readSpan(span) ?? []);
}

function listSpans(value: JsonObject): readonly JsonObject[] {
  const inner = (each: unknown, ...names: readonly string[]): readonly JsonObject[] => {
    const found: unknown = isJsonObject(each) ? names.map((name) => each[name]).find(Array.isArray) : undefined;
    return Array.isArray(found) ? found.filter(isJsonObject) : [];
  };
  return inner(value, 'resourceSpans', 'resource_spans')
    .flatMap((resource) => inner(resource, 'scopeSpans', 'scope_spans', 'instrumentationLibrarySpans'))
    .flatMap((scope) => inner(scope, 'spans'));
}

function readSpan(span: JsonObject): Trace | undefined {
  const attributes = readAttributes(span['attributes']);
  const messages = upToQuestion([...systemOf(attributes), ...messagesOf(attributes, 'input')]);
  const answer = messagesOf(attributes, 'output')
    .filter(({ role }) => role === 'assistant')
    .at(-1)?.content;
  if (messages === undefined || answer === undefined) return undefined;
  const trace = textOf(span['traceId'] ?? span['trace_id']) ?? '';
  const conversation = textOf(attributes['gen_ai.conversation.id'] ?? attributes['session.id']) ?? trace;
  const id = textOf(attributes['gen_ai.response.id'] ?? span['spanId'] ?? span['span_id']) ?? trace;
  return { id, conversation, messages, answer, feedback: feedbackOf(attributes) };
}

function readAttributes(list: unknown): Attributes {
  if (!Array.isArray(list)) return {};
  const entries = list.filter(isJsonObject).flatMap(({ key, value }) => {
    return typeof key === 'string' ? [[key, readValue(value)] as const] : [];
  });
  return Object.fromEntries(entries);
}

/** An `AnyValue` of OTLP: integers are strings there. */
function readValue(value: unknown): unknown {
  if (!isJsonObject(value)) return undefined;
  const { stringValue, intValue, doubleValue, boolValue, arrayValue, kvlistValue } = value;
  if (intValue !== undefined) return Number(intValue);
  if (isJsonObject(arrayValue) && Array.isArray(arrayValue['values'])) return arrayValue['values'].map(readValue);
  if (isJsonObject(kvlistValue)) return readAttributes(kvlistValue['values']);
  return stringValue ?? doubleValue ?? boolValue;
}

function systemOf(attributes: Attributes): readonly Message[] {
  const parts = fromJson(attributes['gen_ai.system_instructions']);
  const message = readMessage({ role: 'system', content: parts });
  return message === undefined ? [] : [message];
}

function messagesOf(attributes: Attributes, side: 'input' | 'output'): readonly Message[] {
  const whole = fromJson(attributes[`gen_ai.${side}.messages`]);
  if (Array.isArray(whole)) return whole.flatMap((each: unknown) => readMessage(each) ?? []);
  const prefixes = [side === 'input' ? 'gen_ai.prompt' : 'gen_ai.completion', `llm.${side}_messages`];
  for (const prefix of prefixes) {
    const numbered = numberedMessages(attributes, prefix, side);
    if (numbered.length > 0) return numbered;
  }
  const content = textOf(attributes[`${side}.value`]);
  return content === undefined ? [] : [{ role: side === 'input' ? 'user' : 'assistant', content }];
}

/** `<prefix>.0.content` and `<prefix>.0.message.content`, with `role` next to it. */
function numberedMessages(attributes: Attributes, prefix: string, side: 'input' | 'output'): readonly Message[] {
  const messages: Message[] = [];
  for (let at = 0; ; at++) {
    const part = (name: string): unknown =>
      attributes[`${prefix}.${at}.${name}`] ?? attributes[`${prefix}.${at}.message.${name}`];
    const [role, content] = [part('role'), part('content')];
    if (role === undefined && content === undefined) return messages;
    const message = readMessage({ role: role ?? (side === 'output' ? 'assistant' : 'user'), content });
    if (message !== undefined) messages.push(message);
  }
}

function feedbackOf(attributes: Attributes): Trace['feedback'] {
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
