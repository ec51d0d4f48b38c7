import type { AssistantMessage } from '@agentjet/core';
import type { AgentIdentity } from '../contract.js';
import type { MessageNode } from './message-node.js';
import type { TokenPosition } from '../tokens/token-tree.js';

/**
 * A chain of everything that the model has seen: prompt text, an answer, prompt text, an answer, ... Each state has its
 * text and its exact position among the token ids.
 */
export type SeenState = RenderedPrompt | GeneratedTurn;

export type RenderedPrompt = {
  readonly kind: 'prompt';
  readonly before: SeenState | undefined;
  /** The text that the template printed after `before`, including the generation header. */
  readonly text: string;
  readonly position: TokenPosition;
  /** Number of messages when the whole history was last rendered and compared. */
  readonly checkedLength: number;
};

export type GeneratedTurn = {
  readonly kind: 'turn';
  readonly before: RenderedPrompt;
  /** The text that the model wrote, without its stop token. */
  readonly text: string;
  /** Whether the last sampled id ended the turn; a truncated answer has no such id. */
  readonly isStopped: boolean;
  /**
   * The answer as text, for the template to print it again. Present if its calls were read without the tags that the
   * template prints around calls.
   */
  readonly written: string | undefined;
  readonly position: TokenPosition;
  readonly message: AssistantMessage;
  /** Stop strings of the caller, who may have received the answer cut at one of them. */
  readonly stops: readonly string[];
  readonly agent: AgentIdentity;
  /** Number of the call in the order of `begin`. */
  readonly index: number;
  /** The message that was answered. */
  readonly node: MessageNode;
  /** The latest spelling in which the turn came back. */
  spelling?: AssistantMessage;
};

/** Returns the states from the beginning to this one. */
export function chainOf(state: SeenState | undefined): readonly SeenState[] {
  const chain: SeenState[] = [];
  for (let current = state; current !== undefined; current = current.before) chain.push(current);
  return chain.reverse();
}
