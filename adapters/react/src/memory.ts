import type { ChatMessage } from '@agentjet/core';

/** An agent's memory, as messages for its model. Replace it to summarise or to forget. */
export interface Memory {
  add(message: ChatMessage): void | Promise<void>;
  messages(): readonly ChatMessage[] | Promise<readonly ChatMessage[]>;
  clear(): void | Promise<void>;
}

/** Keeps all messages in order. Each prompt then extends the last one and costs only its new tokens. */
export class InMemoryMemory implements Memory {
  #messages: ChatMessage[] = [];

  add(message: ChatMessage): void {
    this.#messages.push(message);
  }

  messages(): readonly ChatMessage[] {
    return [...this.#messages];
  }

  clear(): void {
    this.#messages = [];
  }
}
