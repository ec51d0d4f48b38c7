import { ApiError } from '@agentjet/chat-completions';
import type { EndpointSession } from './session.js';

/**
 * Reports a request to the episode if it is refused before its model is asked. The model itself counts the errors that
 * it throws.
 */
export async function noteRefusals<T>(
  { onRefused }: Pick<EndpointSession, 'onRefused'>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ApiError && error.status !== 410) onRefused?.(error);
    throw error;
  }
}
