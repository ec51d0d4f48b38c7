import type { ToolSpec } from '@agentjet/core';

/** The tool that the scripted model calls. */
export const addTool: ToolSpec = {
  name: 'add',
  description: 'Adds two numbers.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
};

export function callText(name: string, args: string): string {
  return `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`;
}

/** Replies of the scripted model whose spelling frameworks tend to change. */
export const oddCalls: Readonly<Record<string, string>> = {
  'keys in another order and extra blanks': callText('add', '{"b": 2,  "a":1}'),
  'a number with a fraction of zero': callText('add', '{"a": 1.0, "b": 2}'),
  escapes: callText('add', '{"a": 1, "b": 2, "note": "\\u00e9 \\/ \\n \\"x\\""}'),
  'a key that the schema does not have': callText('add', '{"a": 1, "b": 2, "zzz": [1, {"y": null}]}'),
  emoji: `Adding 🧮 ${callText('add', '{"a": 1, "b": 2, "note": "🙂 naïve"}')}`,
  'text around it': `\n Let me see.  ${callText('add', '{"a": 1, "b": 2}')}`,
  'thinking before it': `<think>\nOne and two.\n\n</think>\n\n${callText('add', '{"a": 1, "b": 2}')}`,
  'two calls at once': `${callText('add', '{"a": 1, "b": 2}')}\n${callText('add', '{"a": 3, "b":4}')}`,
  'empty arguments': callText('add', '{}'),
  'a tool that does not exist': callText('subtract', '{"a": 1}'),
};
