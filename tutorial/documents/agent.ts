import type { ChatModel } from '@agentjet/core';
import { ReActAgent, Toolkit, type Tool } from '@agentjet/react';
import type { Library } from './library.js';

/** The agent gives up after this many model calls. */
const maxCalls = 3;

/** An agent that searches for answers. It has no code for training. Resolves to its answer. */
export async function look(
  question: string,
  { model, library }: { readonly model: ChatModel; readonly library: Library },
  signal?: AbortSignal,
): Promise<string> {
  const search: Tool = {
    name: 'search',
    description: 'Finds sentences.',
    parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
    execute: ({ query }) => {
      const found = library.search(String(query));
      return found.length === 0 ? 'nothing found' : found.join('\n');
    },
  };
  const agent = new ReActAgent({
    name: 'reader',
    systemPrompt: 'Find the answer with search. Then say the answer alone.',
    model,
    toolkit: new Toolkit([search]),
    maxIterations: maxCalls,
  });
  const { content } = await agent.reply(
    { name: 'user', role: 'user', content: question },
    signal === undefined ? {} : { signal },
  );
  return content;
}
