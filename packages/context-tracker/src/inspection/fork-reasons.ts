import type { ForkCause } from '@agentjet/core';

/** What each cause of a fork means, for people. */
export const forkReasons: Readonly<Record<ForkCause, string>> = {
  rewritten: 'earlier messages were changed, cut or summarised',
  edited: "the agent changed words or arguments of the model's answer",
  template: 'the chat template prints earlier messages differently once more follow',
  retokenized: 'an earlier answer goes on in other words, and so in other tokens at the seam',
  tools: 'the list of tools changed',
  system: 'the system message changed',
};
