import { createBubblewrapRunner } from '../bubblewrap/bubblewrap-runner.js';
import { findPrograms } from '../bubblewrap/find-programs.js';
import { SandboxError, type CodeRunner } from '../code-runner.js';

/** Opens the Python sandbox of a machine on which this process cannot make control groups. */
export function openWithoutControlGroups(): CodeRunner {
  const programs = findPrograms();
  if (typeof programs === 'string') throw new SandboxError('unavailable', programs);
  return createBubblewrapRunner({ ...programs, groups: null });
}
