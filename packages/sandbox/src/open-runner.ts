import { createBubblewrapRunner } from './bubblewrap/bubblewrap-runner.js';
import { findPrograms } from './bubblewrap/find-programs.js';
import { SandboxError, type CodeRunner, type Language } from './code-runner.js';
import { createContainerRunner } from './container/container-runner.js';
import { findContainer } from './container/find-container.js';
import { createQuickjsRunner } from './quickjs/quickjs-runner.js';

export const sandboxKinds = ['auto', 'bubblewrap', 'container'] as const;

export type RunnerOptions = {
  /**
   * The sandbox for languages other than JavaScript. Default: `auto`, which uses bubblewrap if it works on this
   * machine, and a container otherwise.
   */
  readonly sandbox?: (typeof sandboxKinds)[number];
  /** The image of a container. It must have python3, sh and timeout, and this package never downloads it. */
  readonly image?: string;
};

/**
 * Opens a sandbox for a language on this machine. Throws SandboxError `unavailable`, with the repair, if this machine
 * has no sandbox for the language. Code never runs without a sandbox. Python compiled to WebAssembly is not used,
 * because its code can reach the surrounding process.
 */
export function openCodeRunner(
  language: Language,
  { sandbox = 'auto', image = 'python:3.12-slim' }: RunnerOptions = {},
): CodeRunner {
  if (language === 'javascript') return createQuickjsRunner();
  const problems: string[] = [];
  if (sandbox !== 'container') {
    const programs = findPrograms();
    if (typeof programs === 'object') return createBubblewrapRunner(programs);
    problems.push(programs);
  }
  if (sandbox !== 'bubblewrap') {
    const engine = findContainer(image);
    if (typeof engine === 'object') return createContainerRunner(engine);
    problems.push(engine);
  }
  throw new SandboxError(
    'unavailable',
    `There is no sandbox for ${language} on this machine: ${problems.join('; ')}. Repair one of them, or let the agent write JavaScript.`,
  );
}
