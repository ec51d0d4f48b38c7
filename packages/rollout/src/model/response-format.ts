import { parseJsonObject, type ChatMessage, type ChatRequest, type ResponseFormat } from '@agentjet/core';

/**
 * Structured output by instruction: sampling is not constrained (that would train the model on tokens it did not
 * choose freely), the wish stands in the system message, and an answer that is no JSON is counted, not hidden.
 */
export function applyResponseFormat(request: ChatRequest): ChatRequest {
  const instruction = toInstruction(request.responseFormat);
  return instruction === undefined ? request : { ...request, messages: withSystemText(request.messages, instruction) };
}

/** True where the format asked for a JSON object and the text is none. */
export function isMalformedJson(format: ResponseFormat | undefined, text: string): boolean {
  return format !== undefined && format.type !== 'text' && parseJsonObject(text) === undefined;
}

function toInstruction(format: ResponseFormat | undefined): string | undefined {
  if (format === undefined || format.type === 'text') {
    return undefined;
  }
  return format.type === 'json_object'
    ? 'Answer with one JSON object and nothing else.'
    : `Answer with one JSON object and nothing else. It must match this JSON schema:\n${JSON.stringify(format.schema)}`;
}

function withSystemText(messages: readonly ChatMessage[], text: string): readonly ChatMessage[] {
  const [first, ...rest] = messages;
  return first?.role === 'system'
    ? [{ ...first, content: first.content === '' ? text : `${first.content}\n\n${text}` }, ...rest]
    : [{ role: 'system', content: text }, ...messages];
}
