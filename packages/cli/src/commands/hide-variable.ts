import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

/**
 * Removes a variable from the environment of this process. On Linux, other processes can still read the environment
 * that this process was started with (/proc/<pid>/environ), so the variable is overwritten there, too. Returns false if
 * other processes may still see the variable.
 */
export function hideVariable(name: string): boolean {
  if (process.env[name] === undefined) return true;
  delete process.env[name];
  if (process.platform !== 'linux') return false;
  try {
    const block = readFileSync('/proc/self/environ');
    const at = Buffer.concat([Buffer.of(0), block]).indexOf(`\0${name}=`);
    if (at === -1) return true; // the variable was set after the start
    const length = block.indexOf(0, at) - at;
    overwrite(startOfEnvironment() + at, Buffer.alloc(length));
    return !readFileSync('/proc/self/environ').includes(`${name}=`);
  } catch {
    return false; // /proc is missing, or the system does not allow it
  }
}

/** Returns the address of the environment in the memory of this process: field 50 of its `stat`. */
function startOfEnvironment(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[47]);
}

function overwrite(address: number, bytes: Buffer): void {
  const memory = openSync('/proc/self/mem', 'r+');
  try {
    writeSync(memory, bytes, 0, bytes.length, address);
  } finally {
    closeSync(memory);
  }
}
