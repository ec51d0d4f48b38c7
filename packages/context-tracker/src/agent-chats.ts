import type { ToolSpec } from '@agentjet/core';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import type { AgentIdentity, SpecialTokensInText } from './contract.js';
import { MessageNode } from './history/message-node.js';
import { SpecialText } from './prompt/special-text.js';
import { TailRenderer } from './prompt/tail-text.js';
import { findTurnMarks, type TurnMarks } from './prompt/turn-marks.js';

/** One chat template of an episode, with the conversations that were printed with it. */
export class ChatSide {
  readonly chatTokenizer: ChatTokenizer;
  readonly marks: TurnMarks;
  readonly special: SpecialText;
  readonly tails: TailRenderer;
  /** Roots of the conversations. The key is the list of offered tools as JSON. */
  readonly #roots = new Map<string, MessageNode>();

  constructor(chatTokenizer: ChatTokenizer, specialTokensInText: SpecialTokensInText) {
    this.chatTokenizer = chatTokenizer;
    this.marks = findTurnMarks(chatTokenizer);
    this.special = new SpecialText(chatTokenizer, specialTokensInText);
    this.tails = new TailRenderer(chatTokenizer.template, { marks: this.marks, special: this.special });
  }

  /** Returns the root of all conversations with these tools. Only `keepRoot` stores it. */
  rootFor(toolsKey: string): MessageNode {
    const { template } = this.chatTokenizer;
    const known = this.#roots.get(toolsKey);
    return known ?? MessageNode.createRoot({ tools: JSON.parse(toolsKey) as readonly ToolSpec[], template });
  }

  /**
   * Stores the root unless a root is already stored for these tools, and returns the stored one. Concurrent first calls
   * each begin with a separate root, so the root of the first commit is kept.
   */
  keepRoot(toolsKey: string, root: MessageNode): MessageNode {
    const kept = this.#roots.get(toolsKey) ?? root;
    this.#roots.set(toolsKey, kept);
    return kept;
  }
}

type AgentChatsOptions = {
  readonly chatOf?: ((agent: AgentIdentity) => ChatTokenizer | undefined) | undefined;
  readonly specialTokensInText: SpecialTokensInText;
};

/** Returns the chat template of each agent of an episode. */
export class AgentChats {
  readonly #default: ChatTokenizer;
  readonly #options: AgentChatsOptions;
  readonly #sides = new Map<ChatTokenizer, ChatSide>();
  readonly #byAgent = new Map<string, ChatSide>();

  constructor(chatTokenizer: ChatTokenizer, options: AgentChatsOptions) {
    this.#default = chatTokenizer;
    this.#options = options;
  }

  /**
   * Returns the chat template of a call. `ofCall` is given if this call's template differs from the template of its
   * agent.
   */
  of(agent: AgentIdentity, ofCall?: ChatTokenizer): ChatSide {
    if (ofCall !== undefined) return this.#sideOf(ofCall);
    const key = `${agent.agentName.length} ${agent.agentName} ${agent.targetTag}`;
    const known = this.#byAgent.get(key);
    if (known !== undefined) return known;
    const chatTokenizer = this.#options.chatOf?.(agent) ?? this.#default;
    const side = this.#sideOf(chatTokenizer);
    this.#byAgent.set(key, side);
    return side;
  }

  #sideOf(chatTokenizer: ChatTokenizer): ChatSide {
    const side = this.#sides.get(chatTokenizer) ?? new ChatSide(chatTokenizer, this.#options.specialTokensInText);
    this.#sides.set(chatTokenizer, side);
    return side;
  }
}
