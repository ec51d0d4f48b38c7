import { WorkflowError } from '@agentjet/core';
import { currentStrayTaker, sayThatExitEnds } from './stray-errors.js';

/**
 * Replaces `process.exit`, so a workflow that calls it fails its own episode and does not end the run. Use it only in a
 * program that exists to run episodes, such as the `ajet` command. A library must not do this to its user's program.
 */
export function failEpisodesThatExit(): void {
  const exit = process.exit.bind(process);
  process.exit = (code) => {
    const onStray = currentStrayTaker();
    if (onStray === undefined) return exit(code);
    const error = new WorkflowError('process_exit', sayThatExitEnds(code));
    onStray(error);
    throw error;
  };
}
