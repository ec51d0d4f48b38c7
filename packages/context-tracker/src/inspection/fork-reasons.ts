import type { ForkCause } from '@agentjet/core';

/** Explains each cause of a fork to people. */
export const forkReasons: Readonly<Record<ForkCause, string>> = {
  rewritten: 'earlier messages were changed, cut or summarised',
  edited: "the agent changed words or arguments of the model's answer",
  template: 'the chat template prints earlier messages differently once others follow',
  retokenized: 'words were added to an earlier answer, so the tokens at its end changed',
  tools: 'the list of tools changed',
  system: 'the system message changed',
};
