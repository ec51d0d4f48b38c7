import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { GroupParents } from '../process/control-group.js';
import { pythonPrograms } from '../testing/programs.js';
import { runnerCases } from '../testing/runner-cases.js';
import { createBubblewrapRunner } from './bubblewrap-runner.js';
import { findPrograms } from './find-programs.js';

const programs = findPrograms();
const [found, missing] = typeof programs === 'string' ? [null, programs] : [programs, null];

describe.skipIf(missing !== null)(`bubblewrap${missing === null ? '' : ` (${missing})`}`, () => {
  beforeAll(() => {
    process.env['SECRET'] = 'of the host';
  });
  const open = () => {
    if (found === null) throw new Error(String(missing));
    return createBubblewrapRunner(found);
  };
  const run = (code: string) => open().run(code, { language: 'python' });
  for (const each of runnerCases(open, pythonPrograms)) it(each.name, each.run);

  it('ends the processes that the code started', async () => {
    const code = 'import subprocess\nsubprocess.Popen(["/usr/bin/sleep", "31.4159"])\nprint("started")';
    expect((await open().run(code, { language: 'python' })).stdout).toBe('started\n');
    const running = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && commandOf(name).includes('31.4159'));
    expect(running).toEqual([]);
  });

  it('takes nothing that code says for a failure of the sandbox', async () => {
    const code = 'import sys\nsys.stderr.write("bwrap: Creating new namespace failed\\n")\nsys.exit(1)';
    expect(await open().run(code, { language: 'python' })).toMatchObject({
      error: 'bwrap: Creating new namespace failed',
      limit: null,
    });
  });

  it('takes no file outside of its folder', async () => {
    const run = open().run('print(1)', { language: 'python', files: { '../out.txt': 'x' } });
    await expect(run).rejects.toThrow('"../out.txt" is not a file of a sandbox');
  });

  it('lets code write nothing but three folders of a limited size', async () => {
    const { stdout } = await run(`
import os
for path in ('/x', '/dev/x', '/given/x', '/proc/sys/kernel/hostname', '/proc/sys/kernel/core_pattern'):
  if os.access(path if os.path.exists(path) else os.path.dirname(path), os.W_OK): print(path)
for folder in ('/work', '/tmp', '/dev/shm'):
  try:
    for name in ('x', 'y'): open(folder + '/' + name, 'wb').write(bytes(40_000_000))
  except OSError as error: print(error.strerror)
  for name in os.listdir(folder): os.remove(folder + '/' + name)
`);
    expect(stdout).toBe('No space left on device\n'.repeat(3));
  });

  it('refuses nested namespaces, mounts, keyrings, io_uring, vsock and memory of no process', async () => {
    const { stdout } = await run(`
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def tried(name, result): print(name, os.strerror(ctypes.get_errno()) if result < 0 else 'ALLOWED')
tried('unshare', libc.unshare(0x10000000))
tried('mount', libc.mount(b'none', b'/tmp', b'tmpfs', 0, None))
tried('shmget', libc.shmget(0, 4096, 0o1600))
tried('memfd_create', libc.memfd_create(b'x', 0))
tried('io_uring_setup', libc.syscall(425, 4, 0))
keyctl = {'x86_64': 250, 'aarch64': 219}[os.uname().machine]
tried('keyctl', libc.syscall(keyctl, 0, -3))
for family in (socket.AF_VSOCK, socket.AF_NETLINK, socket.AF_ALG):
  try: socket.socket(family, socket.SOCK_RAW if family == socket.AF_NETLINK else socket.SOCK_STREAM); print('ALLOWED')
  except OSError as error: print(error.errno)
socket.socketpair(); socket.socket(); socket.socket(socket.AF_INET6)
`);
    const [not, absent] = ['Operation not permitted', 'Function not implemented'];
    const calls = [`unshare ${not}`, `mount ${not}`, `shmget ${absent}`, `memfd_create ${absent}`];
    expect(stdout.trim().split('\n')).toEqual([
      ...calls,
      `io_uring_setup ${absent}`,
      `keyctl ${not}`,
      ...Array(3).fill('97'),
    ]);
  });

  // `pss` is the mechanism of machines on which this process cannot make control groups.
  for (const mechanism of found?.groups === null ? (['pss'] as const) : (['cgroup', 'pss'] as const)) {
    const counted = () =>
      found === null ? open() : createBubblewrapRunner(mechanism === 'pss' ? { ...found, groups: null } : found);

    it(`counts all processes and files of the code together (${mechanism})`, async () => {
      const forks = `
import os, time
for at in range(5):
  if os.fork() == 0:
    taken = bytearray(50_000_000)
    time.sleep(60)
time.sleep(60)`;
      const limits = { seconds: 60, megabytes: 128 };
      expect(await counted().run(forks, { language: 'python', limits })).toMatchObject({ limit: 'memory', mechanism });
      const files = `
import time
for folder in ('/work', '/tmp', '/dev/shm'): open(folder + '/x', 'wb').write(bytes(60_000_000))
time.sleep(60)`;
      expect(await counted().run(files, { language: 'python', limits })).toMatchObject({ limit: 'memory', mechanism });
    });

    it(`starts no more processes than are allowed (${mechanism})`, async () => {
      const code = `
import os, time
try:
  for at in range(100):
    if os.fork() == 0: time.sleep(60)
except OSError: print('refused', at < 66)
time.sleep(0.3)
os._exit(0)`;
      const { stdout, limit } = await counted().run(code, { language: 'python', limits: { seconds: 60 } });
      expect([`refused True\n`, 'processes']).toContain(limit ?? stdout);
    });
  }

  it('leaves no control group', async () => {
    await run('print(1)');
    expect(groupsOf(found?.groups ?? null)).toEqual([]);
  });
});

function groupsOf(parents: GroupParents | null): readonly string[] {
  if (parents === null) return [];
  const folders = parents.version === 1 ? [parents.memory, parents.pids] : [parents.unified];
  return folders.flatMap((folder) => readdirSync(folder)).filter((name) => name.startsWith(`ajet-${process.pid}-`));
}

it('says what is missing if it cannot run', () => {
  if (missing === null) expect(programs).toMatchObject({ bwrap: expect.stringContaining('bwrap') });
  else expect(missing).toMatch(/bubblewrap|prlimit|python3/);
});

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
