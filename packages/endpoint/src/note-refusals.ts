import { ApiError } from '@agentjet/chat-completions';
import type { EndpointSession } from './session.js';

/**
 * Runs `work`. If `work` refuses the request before the model is called, the error is reported to the episode. Errors
 * that the model throws are not reported, because the model counts them itself.
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
