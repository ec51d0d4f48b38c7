import { parseJsonObject, type ChatMessage, type ChatRequest, type ResponseFormat } from '@agentjet/core';
import { findMismatch } from './schema-mismatch.js';

/**
 * Asks for structured output by instruction. Sampling is not constrained, because that would train the model on tokens
 * that it did not choose freely. The format is described in the system message, and an answer that is not JSON is
 * counted and returned unchanged.
 */
export function applyResponseFormat(request: ChatRequest): ChatRequest {
  const instruction = toInstruction(request.responseFormat);
  return instruction === undefined ? request : { ...request, messages: withSystemText(request.messages, instruction) };
}

/** True if the format asks for a JSON object, but the text is not a JSON object or does not match the schema. */
export function isMalformedJson(format: ResponseFormat | undefined, text: string): boolean {
  if (format === undefined || format.type === 'text') return false;
  const value = parseJsonObject(text);
  return value === undefined || (format.type === 'json_schema' && findMismatch(format.schema, value) !== undefined);
}

function toInstruction(format: ResponseFormat | undefined): string | undefined {
  if (format === undefined || format.type === 'text') {
    return undefined;
  }
  const wanted = 'Answer with one JSON object and nothing else.';
  if (format.type === 'json_object') return wanted;
  const { description, schema } = format;
  const described = description === undefined || description === '' ? '' : ` What it is: ${description}`;
  return `${wanted}${described} It must match this JSON schema:\n${JSON.stringify(schema)}`;
}

function withSystemText(messages: readonly ChatMessage[], text: string): readonly ChatMessage[] {
  const [first, ...rest] = messages;
  return first?.role === 'system'
    ? [{ ...first, content: first.content === '' ? text : `${first.content}\n\n${text}` }, ...rest]
    : [{ role: 'system', content: text }, ...messages];
}
