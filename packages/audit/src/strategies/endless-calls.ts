import type { ToolSpec } from '@agentjet/core';
import type { Line, Strategy, Way } from '../contract.js';

export const endlessCalls: Strategy = {
  name: 'a tool called for ever',
  summary: 'calls tools until the agent stops it',
  role: 'unsolved',
  ways: [
    callsForEver('the first tool', (tools) => tools[0]?.name),
    callsForEver('the last tool', (tools) => tools.at(-1)?.name),
    callsForEver('all tools in turn', (tools, turn) => tools[turn % tools.length]?.name),
    callsForEver('a tool that does not exist', () => 'no_such_tool'),
  ],
};

/** The arguments are the same in each call and match the tool's schema. */
function callsForEver(name: string, choose: (tools: readonly ToolSpec[], turn: number) => string | undefined): Way {
  const write = (tools: readonly ToolSpec[], turn: number): Line => {
    const tool = choose(tools, turn);
    return { text: '1', ...(tool !== undefined && { calls: [{ name: tool }] }) };
  };
  return {
    name,
    needs: ['tools'],
    open:
      () =>
      ({ tools = [] }, turn) =>
        tools.length === 0 ? { text: '' } : write(tools, turn),
  };
}
