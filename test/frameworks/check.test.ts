import type { ChatMessage } from '@agentjet/core';
import { asModel, InMemoryMemory, ReActAgent, Toolkit } from '@agentjet/react';
import { expect, it } from 'vitest';
import { type Case, check } from './in-project/check.mjs';

type Edit = (history: readonly ChatMessage[]) => readonly ChatMessage[];

/** An agent of ours. `edit` changes what its model reads of the history, as a framework might. */
const caseWith = ({ edit = (history) => history, sum }: { readonly edit?: Edit; readonly sum?: string }): Case => ({
  open: ({ tuner, tool: { name, description, parameters, run } }) => {
    let onText: ((piece: string) => void) | undefined;
    const memory = new InMemoryMemory();
    const agent = new ReActAgent({
      name: 'solver',
      systemPrompt: 'You solve sums.',
      model: asModel(tuner, { agentName: 'solver' }),
      toolkit: new Toolkit([
        {
          name,
          description,
          parameters: { ...parameters },
          execute: ({ a, b }) => sum ?? run({ a: Number(a), b: Number(b) }),
        },
      ]),
      memory: { add: (message) => memory.add(message), messages: () => edit(memory.messages()), clear: () => {} },
      hooks: { onDelta: (delta) => void (delta.type === 'content' && onText?.(delta.text)) },
    });
    return {
      ask: async (content, listener) => {
        onText = listener;
        return (await agent.reply({ name: 'user', role: 'user', content })).content;
      },
    };
  },
});

it('an agent that keeps its history works', async () => {
  expect(await check(caseWith({}))).toEqual([]);
});

it('an agent that forgets a turn, leaves out its tool or rewrites a call does not', async () => {
  const isCall = ({ role, ...rest }: ChatMessage): boolean => role === 'assistant' && 'toolCalls' in rest;
  const forgets: Edit = (history) => history.slice(-3);
  const rewrites: Edit = (history) =>
    history.map((message) => (isCall(message) ? { ...message, content: 'Hm.' } : message));
  const named = async (given: Case): Promise<string> => (await check(given)).join('\n');
  expect(await named(caseWith({ edit: forgets }))).toMatch(/whole, rows: 3 instead of 1.*streamed, rows/s);
  expect(await named(caseWith({ edit: rewrites }))).toMatch(
    /whole, forks: \{"solver":\{"edited":\d\}\} instead of \{\}/,
  );
  expect(await named(caseWith({ sum: '5' }))).toMatch(/sums: \[\] instead of \[\[2,3\],\[5,4\]\]/);
  expect(await named({ ...caseWith({}), isStreaming: false, calls: 3 })).toBe('whole, calls: 4 instead of 3');
});
