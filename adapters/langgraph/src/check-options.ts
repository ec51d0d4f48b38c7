import { EngineError, isPassed, reviewParameters, wishes } from '@agentjet/core';
import type { TunedCallOptions } from './tuned-chat-model.js';

/** Honoured options, by all of their names. */
const honoured = new Set(
  wishes.flatMap(({ treatment, names }) => (treatment === 'honoured' ? (names.langgraph ?? []) : [])),
);

/** What LangChain and LangGraph pass along with every call, and how createAgent asks other providers for JSON. */
const plumbing = new Set(
  [
    'callbacks configurable maxConcurrency metadata promptIndex recursionLimit runId runName signal tags timeout',
    'config context control executionInfo heartbeat interrupt previous serverInfo store writer',
    'cache headers ls_structured_output_format options outputVersion outputConfig responseSchema',
  ].flatMap((names) => names.split(' ')),
);

/** Names of options that have no effect. Throws EngineError `bad_request` for one that is refused or unknown. */
export function checkOptions(options: TunedCallOptions): readonly string[] {
  const { ignored, refused } = reviewParameters('langgraph', options);
  if (refused !== undefined)
    throw new EngineError('bad_request', `The call option "${refused.name}" ${refused.reason}.`);
  for (const [name, value] of Object.entries(options)) {
    if (!isAbsent(value) && !isKnown(name) && !isPlumbing(value))
      throw new EngineError(
        'bad_request',
        `The call option "${name}" is not known to this model. What is sampled is trained, so it is not ignored. Leave it out, or correct its name.`,
      );
  }
  return ignored;
}

function isKnown(name: string): boolean {
  return honoured.has(name) || plumbing.has(name) || isPassed('langgraph', name);
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

/** Frameworks pass functions and objects of classes, never a wish that a model could understand. */
function isPlumbing(value: unknown): boolean {
  if (typeof value === 'function') return true;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype !== Object.prototype && prototype !== null;
}
