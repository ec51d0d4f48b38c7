import { createBubblewrapRunner } from '../bubblewrap/bubblewrap-runner.js';
import { findPrograms } from '../bubblewrap/find-programs.js';
import { SandboxError, type CodeRunner } from '../code-runner.js';

/** Opens the sandbox that Python gets on a machine where this process can make no control groups. */
export function openWithoutControlGroups(): CodeRunner {
  const programs = findPrograms();
  if (typeof programs === 'string') throw new SandboxError('unavailable', programs);
  return createBubblewrapRunner({ ...programs, groups: null });
}
