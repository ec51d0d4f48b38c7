import type { ForkCause } from '@agentjet/core';

/** Explains each cause of a fork to people. */
export const forkReasons: Readonly<Record<ForkCause, string>> = {
  rewritten: 'earlier messages were changed, cut or summarised',
  edited: "the agent changed words or arguments of the model's answer",
  template: 'the chat template prints earlier messages differently once others follow',
  retokenized: 'an earlier answer continues with other words, so the tokens at the seam differ',
  tools: 'the list of tools changed',
  system: 'the system message changed',
};
