import { EngineError } from '@agentjet/core';
import { isPassed, reviewParameters, wishes } from '@agentjet/core/parameters';
import { AsyncLocalStorageProviderSingleton } from '@langchain/core/singletons';
import type { TunedCallOptions } from './tuned-chat-model.js';

/** All names of the honoured options. */
const honoured = new Set(
  wishes.flatMap(({ treatment, names }) => (treatment === 'honoured' ? (names.langgraph ?? []) : [])),
);

/**
 * Options that LangChain and LangGraph add to a call, grouped by their origin. `check-call-options.test.ts` compares
 * the list with the types of both, and with the options that reach a real node and a real tool.
 */
const plumbing = new Set(
  [
    // RunnableConfig and the call options of all chat models
    'callbacks configurable maxConcurrency metadata promptIndex recursionLimit returnExceptions runId runName signal tags timeout',
    'ls_structured_output_format outputVersion',
    // the runtime of LangGraph
    'config context control executionInfo heartbeat interrupt previous serverInfo store writer',
    // options of a graph's run
    'checkpointDuring debug durability inputKeys interruptAfter interruptBefore outputKeys streamMode subgraphs',
    // streamEvents
    'encoding transformers version',
    // the runtime of a tool
    'state toolCall toolCallId',
    // clients, and how createAgent asks other providers for JSON
    'cache headers options outputConfig responseSchema',
  ].flatMap((names) => names.split(' ')),
);

/**
 * Returns the names of options that have no effect. Throws EngineError `bad_request` for an option that is refused or
 * unknown.
 */
export function checkCallOptions(options: TunedCallOptions): readonly string[] {
  const { ignored, refused } = reviewParameters('langgraph', options);
  if (refused !== undefined)
    throw new EngineError('bad_request', `The call option "${refused.name}" ${refused.reason}.`);
  for (const [name, value] of Object.entries(options)) {
    if (!isAbsent(value) && !isKnown(name) && !isObjectOfClass(value))
      throw new EngineError(
        'bad_request',
        `The call option "${name}" is not known to this model. Its answers are trained, so unknown options are refused. Leave it out, or correct its name.`,
      );
  }
  return ignored;
}

function isKnown(name: string): boolean {
  return honoured.has(name) || isPlumbing(name) || isPassed('langgraph', name);
}

/**
 * Whether the name belongs to the framework. Newer versions may add names, so the options of the surrounding run count
 * as the framework's too.
 */
export function isPlumbing(name: string): boolean {
  const run: unknown = AsyncLocalStorageProviderSingleton.getRunnableConfig();
  return plumbing.has(name) || (typeof run === 'object' && run !== null && Object.hasOwn(run, name));
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

/**
 * Whether the value is a function or a class instance. Frameworks pass such values, and an option for the model never
 * is one.
 */
function isObjectOfClass(value: unknown): boolean {
  if (typeof value === 'function') return true;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype !== Object.prototype && prototype !== null;
}
