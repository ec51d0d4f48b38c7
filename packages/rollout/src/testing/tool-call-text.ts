/** Returns what a model of the family `hermes` writes to call a tool. `args` is the JSON of its arguments. */
export const toolCallText = (name: string, args: string): string =>
  `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`;
