/** A tool call as the scripted model writes it. */
export function callText(name: string, args: string): string {
  return `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`;
}
