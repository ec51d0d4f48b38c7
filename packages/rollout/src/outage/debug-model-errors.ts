import { recordCall } from '../episode/untrained-calls.js';
import { watchCalls } from './watch-calls.js';

/**
 * Marks the errors that a debug model's calls throw, so that an episode that fails with one knows whose call failed, and has the
 * calls recorded. The agent gets the very model that was passed: its call methods are replaced on the object itself, once, and
 * do the same as before.
 */

const marked = new WeakMap<object, string>();
const watched = new WeakSet<object>();

/** The agent whose debug model threw this error; undefined if it comes from elsewhere. */
export function debugModelOf(error: object): string | undefined {
  return marked.get(error);
}

function mark(error: unknown, agentName: string): void {
  if (typeof error === 'object' && error !== null && !marked.has(error)) marked.set(error, agentName);
}

/** `methods`: see `watchCalls`. Errors of a method that cannot be replaced are attributed by what they are. */
export function watchDebugModel(model: unknown, agentName: string, methods: readonly string[]): void {
  if ((typeof model !== 'object' && typeof model !== 'function') || model === null || watched.has(model)) return;
  watched.add(model);
  watchCalls(model, methods, {
    around: (args, call) => recordCall(model, args, call),
    begin: () => (error) => mark(error, agentName),
  });
}
