import type { AgentTranscript } from '../contract.js';
import { type MessageNode, messagesTo } from './message-node.js';

/** The node of a sampled answer, and the agent that got the answer. */
export type AnswerNode = { readonly agentName: string; readonly node: MessageNode };

/** Returns the conversations of each agent. Every answer that the agent did not continue ends a conversation. */
export function toTranscripts(answers: readonly AnswerNode[]): readonly AgentTranscript[] {
  const passedBy = new Map<string, Set<MessageNode>>();
  for (const { agentName, node } of answers) {
    const passed = passedBy.get(agentName) ?? new Set<MessageNode>();
    passedBy.set(agentName, passed);
    for (let above = node.parent; above !== undefined && !passed.has(above); above = above.parent) passed.add(above);
  }
  return answers
    .filter(({ agentName, node }) => passedBy.get(agentName)?.has(node) === false)
    .map(({ agentName, node }) => ({ agentName, messages: messagesTo(node) }));
}
