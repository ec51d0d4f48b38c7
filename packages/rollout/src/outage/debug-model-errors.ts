import { recordCall } from '../episode/untrained-calls.js';
import { watchCalls } from './watch-calls.js';

/**
 * Records the calls of a debug model and marks their errors with the agent, so that the error of a failed episode can
 * name the agent. The agent gets the same object that was passed. The methods that make calls are replaced on this
 * object, once, and behave as before.
 */

const marked = new WeakMap<object, string>();
const watched = new WeakSet<object>();

/** Returns the agent whose debug model threw this error. Undefined if the error comes from elsewhere. */
export function debugModelOf(error: object): string | undefined {
  return marked.get(error);
}

function mark(error: unknown, agentName: string): void {
  if (typeof error === 'object' && error !== null && !marked.has(error)) marked.set(error, agentName);
}

/**
 * Watches the calls of a debug model. `watchCalls` explains `methods`. If a method cannot be replaced, its errors are
 * attributed by their type.
 */
export function watchDebugModel(model: unknown, agentName: string, methods: readonly string[]): void {
  if ((typeof model !== 'object' && typeof model !== 'function') || model === null || watched.has(model)) return;
  watched.add(model);
  watchCalls(model, methods, {
    around: (args, call) => recordCall(model, args, call),
    begin: () => (error) => mark(error, agentName),
  });
}
