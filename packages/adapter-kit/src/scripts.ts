import { toolCallText } from '@agentjet/rollout/testing';
import type { ToolSpec } from '@agentjet/core';

/** The tool that the scripted model calls. */
export const addTool: ToolSpec = {
  name: 'add',
  description: 'Adds two numbers.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
};

/** Replies of the scripted model whose spelling frameworks tend to change. */
export const oddCalls: Readonly<Record<string, string>> = {
  'keys in another order and extra blanks': toolCallText('add', '{"b": 2,  "a":1}'),
  'a number with a fraction of zero': toolCallText('add', '{"a": 1.0, "b": 2}'),
  escapes: toolCallText('add', '{"a": 1, "b": 2, "note": "\\u00e9 \\/ \\n \\"x\\""}'),
  'a key that the schema does not have': toolCallText('add', '{"a": 1, "b": 2, "zzz": [1, {"y": null}]}'),
  emoji: `Adding 🧮 ${toolCallText('add', '{"a": 1, "b": 2, "note": "🙂 naïve"}')}`,
  'text around it': `\n Let me see.  ${toolCallText('add', '{"a": 1, "b": 2}')}`,
  'thinking before it': `<think>\nOne and two.\n\n</think>\n\n${toolCallText('add', '{"a": 1, "b": 2}')}`,
  'two calls at once': `${toolCallText('add', '{"a": 1, "b": 2}')}\n${toolCallText('add', '{"a": 3, "b":4}')}`,
  'empty arguments': toolCallText('add', '{}'),
  'a tool that does not exist': toolCallText('subtract', '{"a": 1}'),
};
