import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Identifies the present boot of this machine: by the boot id on Linux, by the time of the boot on macOS. On other
 * systems every process gets a new name. A new name counts as a restart of the machine, and running episodes are then
 * dropped.
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
