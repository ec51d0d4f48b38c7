import type { ApiError } from '@agentjet/chat-completions';

const statuses: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  410: 'FAILED_PRECONDITION',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  503: 'UNAVAILABLE',
};

/** Creates the body of an error in Gemini's form. `details` has our code and the parameter at fault. */
export function toGeminiErrorBody({ status, message, code, parameter }: ApiError): unknown {
  const details = [{ '@type': 'agentjet/error', code, ...(parameter !== undefined && { parameter }) }];
  const name = statuses[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL');
  return { error: { code: status, message, status: name, details } };
}
