import type { ChatMessage } from '@agentjet/core';
import type { ModelOptions, Tuner } from '@agentjet/rollout';
import type { Actor, Line } from './parley.js';

/** The first attempt: it only exchanges text. */
export function asModel(tuner: Tuner, options: ModelOptions<Actor>): Actor {
  return tuner.selectModel(options, (model) => ({
    act: async (lines) => {
      const { message } = await model.generate({ messages: lines.map(toMessage) });
      const uses = (message.toolCalls ?? []).map((call, at) => ({
        ticket: `ticket-${at}`,
        prop: call.name,
        input: JSON.parse(call.arguments) as Record<string, unknown>,
      }));
      return { who: 'actor', words: message.content, uses };
    },
  }));
}

function toMessage({ who, words, uses = [], ticket = '' }: Line): ChatMessage {
  if (who === 'prop') return { role: 'tool', content: words, toolCallId: ticket };
  if (who !== 'actor') return { role: who === 'director' ? 'system' : 'user', content: words };
  return {
    role: 'assistant',
    content: words,
    toolCalls: uses.map((use) => ({ id: use.ticket, name: use.prop, arguments: JSON.stringify(use.input) })),
  };
}
