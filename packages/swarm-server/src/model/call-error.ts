import { ApiError as CallError } from '@agentjet/chat-completions';
import { WireError } from '@agentjet/swarm-wire';

/** An error of the swarm in the words of the model APIs; others are left as they are. */
export function toCallError(error: unknown): unknown {
  if (!(error instanceof WireError)) return error;
  const { status, code, message, retryAfterMs } = error;
  return new CallError(status, code === 'gone' ? 'episode_ended' : code, message, undefined, retryAfterMs);
}
