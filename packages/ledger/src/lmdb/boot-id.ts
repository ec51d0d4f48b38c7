import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Identifies the present boot of this machine. Linux has a name for it, and macOS has its time. On other systems every process
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
    // If the boot time cannot be read, the machine counts as restarted.
  }
  return `${hostname()} ${process.pid} ${Date.now()}`;
}
