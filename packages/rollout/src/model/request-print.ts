import { hash } from 'node:crypto';
import { type ChatRequest, EngineError } from '@agentjet/core';

/**
 * Hashes of the parts of a request that determine its answer. With them, two requests can be compared even if the agent
 * changes its objects.
 */
export type RequestPrint = Readonly<Record<Part, string>>;

const parts = {
  messages: 'messages',
  tools: 'tools',
  toolChoice: 'tool choice',
  parallelToolCalls: 'parallel tool calls',
  responseFormat: 'response format',
  sampling: 'sampling options',
  chatTemplateKwargs: 'chat template kwargs',
  thinkingOff: 'reasoning option',
  model: 'model name',
  isTrained: 'train option',
} as const;
type Part = keyof typeof parts;
const names = Object.keys(parts) as Part[];

export function printRequest(request: ChatRequest): RequestPrint {
  const printed = names.map(
    (name) => [name, hash('sha256', JSON.stringify(request[name]) ?? '', 'base64url')] as const,
  );
  return Object.fromEntries(printed) as Record<Part, string>;
}

/**
 * Returns the key of a call with a request id. Frameworks pass the same id to each step of an agent. So the id
 * identifies a question, and the number of answers since the question identifies the step.
 */
export function toStepId(requestId: string, { messages }: Pick<ChatRequest, 'messages'>): string {
  const question = messages.findLastIndex(({ role }) => role === 'user');
  const step = messages.slice(question + 1).filter(({ role }) => role === 'assistant').length;
  return step === 0 ? requestId : `${requestId}#step${step}`;
}

/** Throws EngineError `bad_request` if two requests with one id ask for different answers. */
export function requireSameRequest(requestId: string, first: RequestPrint, second: RequestPrint): void {
  const changed = names.filter((name) => first[name] !== second[name]).map((name) => parts[name]);
  if (changed.length === 0) return;
  throw new EngineError(
    'bad_request',
    `The request id ${JSON.stringify(requestId)} was used with another request: the ${changed.join(' and the ')} differ. Use a new id for each model call, and the same id only to repeat that call.`,
  );
}
