import type { ChatMessage } from '@agentjet/core';

/** What an agent remembers, in the words its model will read. Replace it to summarise or to forget. */
export interface Memory {
  add(message: ChatMessage): void | Promise<void>;
  messages(): readonly ChatMessage[] | Promise<readonly ChatMessage[]>;
  clear(): void | Promise<void>;
}

/** Keeps everything, in order: each prompt then extends the last, and costs only its new tokens. */
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
