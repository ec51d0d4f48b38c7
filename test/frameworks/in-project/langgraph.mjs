/**
 * Asks a compiled graph whose state has `messages`, and keeps the conversation: in its checkpoints if there is a
 * `threadId`. If a graph has several agents, `speaker` is the node whose words are the answer.
 */
import { HumanMessage } from '@langchain/core/messages';

export function createAsk(graph, { speaker, threadId } = {}) {
  let messages = [];
  const config = threadId === undefined ? {} : { configurable: { thread_id: threadId } };
  return async (question, onText) => {
    const input = { messages: [...(threadId === undefined ? messages : []), new HumanMessage(question)] };
    if (onText === undefined) ({ messages } = await graph.invoke(input, config));
    else
      for await (const [names, mode, piece] of await graph.stream(input, {
        ...config,
        streamMode: ['messages', 'values'],
        subgraphs: true,
      })) {
        if (mode === 'values' && names.length === 0) ({ messages } = piece);
        if (mode !== 'messages' || (speaker !== undefined && !names[0]?.startsWith(`${speaker}:`))) continue;
        const [chunk] = piece;
        if (chunk.getType() === 'ai' && chunk.text !== '') onText(chunk.text);
      }
    return messages.at(-1).text;
  };
}
