import type { ChatMessage, ChatModel } from '@agentjet/core';
import type { AgentTranscript } from '@agentjet/context-tracker';

/** A growing conversation. Each message is kept once, however often it is sent. */
type Conversation = { readonly agentName: string; readonly messages: ChatMessage[] };

/** Called with the ids of an agent's answers. */
export type OnTurn = (agentName: string, turnId: string) => void;

/**
 * Records what agents say to a model that has no tracker. A request that continues an earlier one is added to the same
 * conversation.
 */
export class Conversations {
  readonly #all: Conversation[] = [];

  readonly #onTurn: OnTurn;

  constructor(onTurn: OnTurn) {
    this.#onTurn = onTurn;
  }

  /** Returns the model with a `generate` that also records its answers. */
  listen(model: ChatModel, agentName: string): ChatModel {
    return {
      ...model,
      generate: (request, options) => {
        const answer = model.generate(request, options);
        answer.then(
          ({ id, message }) => {
            this.#onTurn(agentName, id);
            this.#add(agentName, [...request.messages, message]);
          },
          () => {},
        );
        return answer;
      },
    };
  }

  read(): readonly AgentTranscript[] {
    return this.#all.map(({ agentName, messages }) => ({ agentName, messages: [...messages] }));
  }

  #add(agentName: string, messages: readonly ChatMessage[]): void {
    const earlier = this.#all.findLast((one) => one.agentName === agentName && isBeginning(one.messages, messages));
    if (earlier === undefined) this.#all.push({ agentName, messages: [...messages] });
    else earlier.messages.push(...messages.slice(earlier.messages.length));
  }
}

function isBeginning(beginning: readonly ChatMessage[], messages: readonly ChatMessage[]): boolean {
  return beginning.length < messages.length && beginning.every((message, at) => saysTheSame(message, messages[at]));
}

function saysTheSame(left: ChatMessage, right: ChatMessage | undefined): boolean {
  return left.role === right?.role && left.content === right.content && callsOf(left) === callsOf(right);
}

function callsOf(message: ChatMessage): string {
  return message.role === 'assistant' ? (message.toolCalls ?? []).map(({ id }) => id).join(' ') : '';
}
