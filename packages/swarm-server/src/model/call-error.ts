import { ApiError as CallError } from '@agentjet/chat-completions';
import { WireError } from '@agentjet/swarm-wire';

/** Converts an error of the swarm to the form of the model APIs. Other errors are unchanged. */
export function toCallError(error: unknown): unknown {
  if (!(error instanceof WireError)) return error;
  const { status, code, message, retryAfterMs } = error;
  return new CallError(status, code === 'gone' ? 'episode_ended' : code, message, undefined, retryAfterMs);
}
