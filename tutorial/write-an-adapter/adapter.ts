import type { AssistantMessage, ChatMessage, ChatModel, ChatRequest } from '@agentjet/core';
import { restoreTurn, type ModelOptions, type Tuner } from '@agentjet/rollout';
import type { Actor, Line, Stage, Use } from './parley.js';

/** Returns the tuned model as an actor of Parley if its target learns, and `debugModel` itself otherwise. */
export function asModel(tuner: Tuner, options: ModelOptions<Actor>): Actor {
  return tuner.selectModel(options, (model) => ({ act: (lines, stage) => act(model, lines, stage) }));
}

async function act(model: ChatModel, lines: readonly Line[], stage: Stage): Promise<Line> {
  const { curtain, onWords } = stage;
  const { message } = await model.generate(toRequest(lines, stage), {
    ...(curtain && { signal: curtain }),
    ...(onWords && { onDelta: (delta) => delta.type === 'content' && onWords(delta.text) }),
  });
  return {
    who: 'actor',
    words: message.content,
    uses: (message.toolCalls ?? []).map(toUse),
    extras: { agentjet: message },
  };
}

function toRequest(lines: readonly Line[], { props, warmth, longest }: Stage): ChatRequest {
  return {
    messages: lines.map(toMessage),
    tools: props.map(({ name, about, shape }) => ({ name, description: about, parameters: shape })),
    sampling: {
      ...(warmth !== undefined && { temperature: warmth }),
      ...(longest !== undefined && { maxTokens: longest }),
    },
  };
}

function toUse({
  id,
  name,
  arguments: text,
}: {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}): Use {
  return { ticket: id, prop: name, input: JSON.parse(text) as Use['input'] };
}

function toMessage(line: Line): ChatMessage {
  switch (line.who) {
    case 'director':
      return { role: 'system', content: line.words };
    case 'guest':
      return { role: 'user', content: line.words };
    case 'prop':
      return { role: 'tool', content: line.words, toolCallId: line.ticket ?? '' };
    default:
      return toAssistantMessage(line);
  }
}

/**
 * The original turn is stored in the extras. It is used if Parley's line still has the same meaning; otherwise
 * somebody edited the line on purpose.
 */
function toAssistantMessage({ words, uses = [], extras }: Line): AssistantMessage {
  const shown = uses.map(({ ticket, prop, input }) => ({ id: ticket, name: prop, arguments: JSON.stringify(input) }));
  return (
    restoreTurn(extras?.['agentjet'], { content: words, toolCalls: shown }) ?? {
      role: 'assistant',
      content: words,
      toolCalls: shown,
    }
  );
}
