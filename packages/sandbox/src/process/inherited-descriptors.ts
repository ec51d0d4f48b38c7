import { closeSync, openSync, readFileSync, readdirSync } from 'node:fs';

const firstDescriptor = 3;
const closeOnExec = 0o2000000;

/**
 * Returns the file descriptors that child processes would inherit. The parent of this process left them open. Node.js
 * closes its own descriptors in child processes. Linux only.
 */
export function inheritedDescriptors(): readonly number[] {
  const numbers = readdirSync('/proc/self/fdinfo').map(Number);
  return numbers.filter((number) => number >= firstDescriptor && !isClosedOnExec(number));
}

function isClosedOnExec(number: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${number}`, 'utf8'))?.[1] ?? '0';
    return (parseInt(flags, 8) & closeOnExec) !== 0;
  } catch {
    return true; // the descriptor was closed meanwhile
  }
}

/** Calls `run` with an open /dev/null. */
export function withNull<Result>(run: (descriptor: number) => Result): Result {
  const descriptor = openSync('/dev/null', 'r+');
  try {
    return run(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
