import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Names the present start of this machine. Linux gives it a name, and macOS tells when it was. Elsewhere every process
 * gets another name, which counts as a restart: running episodes are then dropped rather than trusted.
 */
export function readBootId(): string {
  try {
    if (process.platform === 'linux') return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    if (process.platform === 'darwin') {
      const bootTime = execFileSync('/usr/sbin/sysctl', ['-n', 'kern.boottime'], { encoding: 'utf8' });
      return `${hostname()} ${/sec = (\d+)/.exec(bootTime)?.[1] ?? bootTime}`;
    }
  } catch {
    // A machine that does not tell is one that restarted.
  }
  return `${hostname()} ${process.pid} ${Date.now()}`;
}
