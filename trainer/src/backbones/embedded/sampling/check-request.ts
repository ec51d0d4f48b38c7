/** Checks a caller's request before anything runs. A wrong request is an error for its caller alone. */

import { EngineError } from '@agentjet/core';
import type { TokenSampling } from '@agentjet/core';

type Limits = { readonly vocabSize: number; readonly contextLength: number };

/** Throws EngineError `context_overflow` or `bad_request`. */
export function checkRequest(
  promptIds: Int32Array,
  sampling: TokenSampling,
  { vocabSize, contextLength }: Limits,
): void {
  if (promptIds.length === 0) throw new EngineError('bad_request', 'The prompt is empty; it needs at least one token.');
  if (promptIds.length >= contextLength) throw overflow(promptIds.length, contextLength);
  const position = promptIds.findIndex((id) => id < 0 || id >= vocabSize);
  if (position >= 0) {
    const advice = 'Is the tokenizer the one of this model?';
    throw bad(
      `Prompt token ${position} is ${promptIds[position]}, outside the vocabulary 0..${vocabSize - 1}. ${advice}`,
    );
  }
  checkSampling(sampling);
}

function overflow(length: number, contextLength: number): EngineError {
  const advice = 'Shorten the conversation, or use a model with a longer context.';
  return new EngineError(
    'context_overflow',
    `The prompt has ${length} tokens; the context holds ${contextLength}, completion included. ${advice}`,
  );
}

function checkSampling({ temperature, topP, topK, maxTokens, seed }: TokenSampling): void {
  if (!(temperature >= 0 && temperature < Infinity))
    throw bad(`temperature is ${temperature}; it must be 0 (greedy) or more.`);
  if (!(topP > 0 && topP <= 1)) throw bad(`topP is ${topP}; it must be above 0 and at most 1.`);
  if (!(Number.isInteger(topK) && topK >= 0))
    throw bad(`topK is ${topK}; it must be a whole number, 0 to keep all tokens.`);
  if (!(Number.isInteger(maxTokens) && maxTokens >= 1))
    throw bad(`maxTokens is ${maxTokens}; it must be a whole number of at least 1.`);
  if (!Number.isFinite(seed)) throw bad(`seed is ${seed}; it must be a number.`);
}

function bad(message: string): EngineError {
  return new EngineError('bad_request', message);
}
