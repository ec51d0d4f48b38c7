import { type Completion, createRandom, type Engine, type GenerateRequest } from '@agentjet/core';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import type { Teacher } from './teacher.js';

/** An engine that answers with a teacher's tokens, so that transcripts are recorded in the same way as samples. */
export class TeacherEngine implements Engine {
  readonly contextLength: number;
  readonly #chatTokenizer: ChatTokenizer;
  readonly #teacher: Teacher;

  constructor(options: {
    readonly chatTokenizer: ChatTokenizer;
    readonly teacher: Teacher;
    readonly contextLength: number;
  }) {
    this.#chatTokenizer = options.chatTokenizer;
    this.#teacher = options.teacher;
    this.contextLength = options.contextLength;
  }

  async generate({ promptIds, sampling, onToken }: GenerateRequest): Promise<Completion> {
    const { tokenizer, template } = this.#chatTokenizer;
    const answer = this.#teacher(tokenizer.decode(promptIds), createRandom(sampling.seed));
    const ids = Int32Array.from([...tokenizer.encode(answer), ...template.stopIds.slice(0, 1)]);
    for (const id of ids) onToken?.(id, 0);
    return { ids, logprobs: new Float32Array(ids.length), finishReason: 'stop', policyVersion: 0 };
  }
}
