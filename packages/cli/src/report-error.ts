import { AgentJetError } from '@agentjet/core';

/** Our own errors explain themselves. Any other error is a defect, of ours or of user code, and keeps its stack. */
export function reportError(error: unknown): void {
  if (error instanceof AgentJetError) {
    console.error(`error: ${error.message.replaceAll('\n', '\n       ')}`);
    return;
  }
  console.error('error: something unexpected happened.');
  console.error(error instanceof Error ? (error.stack ?? error.message) : error);
}
