import type { ChatModel, ChatRequest, ChatResponse } from '@agentjet/core';
import { findTopic } from './ailments.js';
import type { Patient } from './patients.js';

/** Answers by rules instead of a model. It answers the first question of a message, and nothing else. */
export class ScriptedPatient implements ChatModel {
  readonly name = 'scripted-patient';
  readonly #facts: Patient['facts'];

  constructor({ facts }: Pick<Patient, 'facts'>) {
    this.#facts = facts;
  }

  async generate({ messages }: ChatRequest): Promise<ChatResponse> {
    return {
      id: `scripted-${messages.length}`,
      model: this.name,
      message: { role: 'assistant', content: this.#answer(messages.at(-1)?.content ?? '') },
      finishReason: 'stop',
      usage: { promptTokens: 0, completionTokens: 0 },
    };
  }

  #answer(words: string): string {
    const topic = findTopic(words);
    if (topic === undefined) return 'I do not understand.';
    return this.#facts[topic] ?? 'Nothing new there.';
  }
}
