import { createBubblewrapRunner, findPrograms } from './bubblewrap/bubblewrap-runner.js';
import { SandboxError, type CodeRunner, type Language } from './code-runner.js';
import { createQuickjsRunner } from './quickjs/quickjs-runner.js';

/**
 * A sandbox for a language on this machine. Throws SandboxError `unavailable`, with the repair, if there is none: code is never run
 * without one. Python compiled to WebAssembly is not used, since its code reaches the process around it.
 */
export function openCodeRunner(language: Language): CodeRunner {
  if (language === 'javascript') return createQuickjsRunner();
  const programs = findPrograms();
  if (typeof programs === 'object') return createBubblewrapRunner(programs);
  throw new SandboxError(
    'unavailable',
    `There is no sandbox for ${language} on this machine: ${programs}. Install it, or let the agent write JavaScript.`,
  );
}
