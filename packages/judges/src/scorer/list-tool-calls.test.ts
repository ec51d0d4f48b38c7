import { expect, it } from 'vitest';
import { listToolCalls } from './list-tool-calls.js';

const call = (toolCalls: { id: string; name: string; arguments: string }[]) =>
  ({ role: 'assistant', content: '', toolCalls }) as const;

it('takes the result of a call from its own agent, because agents may repeat ids', () => {
  const one = { id: 'call_0', name: 'add', arguments: '{"a":1}' };
  const { toolCalls } = listToolCalls([
    { agentName: 'a', messages: [call([one]), { role: 'tool', toolCallId: 'call_0', content: '1' }] },
    { agentName: 'b', messages: [call([{ ...one, name: 'wait' }])] },
    { agentName: 'c', messages: [call([one]), { role: 'tool', toolCallId: 'call_0', content: '3' }] },
  ]);
  expect(toolCalls.map(({ name, status, result }) => [name, status, result])).toEqual([
    ['add', 'ok', '1'],
    ['wait', 'pending', undefined],
    ['add', 'ok', '3'],
  ]);
});
