import type { Language } from '@agentjet/sandbox';
import { javascriptPrograms, pythonPrograms } from '@agentjet/sandbox/testing';
import type { SandboxCase } from './cases.js';

/** The escapes of the package's own cases. */
export const knownEscapes: readonly SandboxCase[] = [javascriptPrograms, pythonPrograms].flatMap(
  ({ language, escapes }) => escapes.map((code, at) => ({ name: `known ${at + 1}`, language, code })),
);

function cases(language: Language, codes: Readonly<Record<string, string>>): readonly SandboxCase[] {
  return Object.entries(codes).map(([name, code]) => ({ name, language, code: code.trim() }));
}

const libc = 'import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\nx64 = os.uname().machine == "x86_64"\n';

/** Prints ESCAPED unless the call fails. */
function call(expression: string): string {
  return `${libc}print("ESCAPED" if ${expression} >= 0 else "no")`;
}

/** Prints ESCAPED unless the statements raise an error. */
function attempt(statements: string): string {
  const lines = statements.split('; ').map((line) => `  ${line}`);
  return `import os, socket\ntry:\n${lines.join('\n')}\n  print("ESCAPED")\nexcept OSError: print("no")`;
}

const python = cases('python', {
  'namespace by unshare': call('libc.unshare(0x10000000)'),
  'namespaces of mounts and network by unshare': call('libc.unshare(0x40020000)'),
  'namespace by clone': `${libc}result = libc.syscall(56 if x64 else 220, 0x10000011, 0, 0, 0, 0)
if result == 0: os._exit(0)
print("ESCAPED" if result > 0 else "no")`,
  'namespace by clone3': `${libc}arguments = (ctypes.c_uint64 * 8)(0x10000000, 0, 0, 0, 17, 0, 0, 0)
result = libc.syscall(435, arguments, 64)
if result == 0: os._exit(0)
print("ESCAPED" if result > 0 else "no")`,
  'namespace by a program': `import subprocess
print("ESCAPED" if subprocess.run(["/usr/bin/unshare", "-Ur", "true"], capture_output=True).returncode == 0 else "no")`,
  'namespace of another process': `${libc}import glob
for name in ("user", "mnt", "net", "pid"):
  for path in glob.glob("/proc/[0-9]*/ns/" + name):
    try: number = os.open(path, os.O_RDONLY)
    except OSError: continue
    if libc.setns(number, 0) == 0: print("ESCAPED")
print("no")`,
  'mount over the programs': call('libc.mount(b"none", b"/usr", b"tmpfs", 0, None)'),
  'make the root writable': call('libc.mount(None, b"/", None, 32 | 4096, None)'),
  'make the programs writable': call('libc.mount(None, b"/usr", None, 32 | 4096, None)'),
  'unmount the programs': call('libc.umount2(b"/usr", 2)'),
  'unmount /proc': call('libc.umount2(b"/proc", 2)'),
  'exchange the root': call('libc.syscall(155 if x64 else 41, b"/work", b"/work")'),
  'open a tree of mounts': call('libc.syscall(428, -100, b"/", 1)'),
  'open a file system': call('libc.syscall(430, b"tmpfs", 0)'),
  'read the keyring': call('libc.syscall(250 if x64 else 219, 0, -3, 0)'),
  'add a key': call('libc.syscall(248 if x64 else 217, b"user", b"name", b"value", 5, -3)'),
  'open a ring of io_uring': call('libc.syscall(425, 4, (ctypes.c_char * 120)())'),
  'load a program into the kernel': call('libc.syscall(321 if x64 else 280, 0, (ctypes.c_char * 128)(), 128)'),
  'measure the kernel': call('libc.syscall(298 if x64 else 241, (ctypes.c_char * 128)(), 0, -1, -1, 0)'),
  'handle page faults': call('libc.syscall(323 if x64 else 282, 1)'),
  'attach to the first process': call('libc.ptrace(16, 1, None, None)'),
  'read the memory of the first process': attempt('open("/proc/1/mem", "rb").read(1)'),
  'see the root of the first process': `import os
try: print("ESCAPED" if os.path.exists("/proc/1/root/CANARY_FILE") else "no")
except OSError: print("no")`,
  'the environment of the first process': `try: print(open("/proc/1/environ").read())
except OSError: print("no")`,
  'a file of the machine': attempt('print(open("CANARY_FILE").read())'),
  'a file of the machine from the given files': attempt('print(open("/given/../CANARY_FILE").read())'),
  'a file of the machine through open descriptors': `import os
for number in range(3, 20):
  try: print(os.readlink("/proc/self/fd/%d" % number), open(os.open("../CANARY_FILE", os.O_RDONLY, dir_fd=number)).read())
  except OSError: pass`,
  'descriptors that were left open': `import os
left = []
for number in range(3, 1000):
  try:
    if os.readlink("/proc/self/fd/%d" % number) != "/dev/null": left.append(number)
  except OSError: pass
print("ESCAPED" if left else "no")`,
  'a file by its handle': call('libc.open_by_handle_at(-100, (ctypes.c_char * 136)(), 0)'),
  'a server of the machine': attempt('socket.create_connection(("127.0.0.1", CANARY_PORT), 1)'),
  'a server of the machine by IPv6': attempt('socket.create_connection(("::1", CANARY_PORT), 1)'),
  'a socket of the machine': attempt('s = socket.socket(socket.AF_UNIX); s.connect("\\0CANARY_SOCKET")'),
  'the host of a virtual machine': attempt(
    's = socket.socket(40, 1); s.settimeout(1); s.bind((4294967295, 4294967295))',
  ),
  'the settings of the network': attempt('socket.socket(16, 3, 0)'),
  'packets of the network': attempt('socket.socket(17, 3, 768)'),
  'ciphers of the kernel': attempt('socket.socket(38, 5)'),
  'a process of the machine': attempt('os.kill(CANARY_PID, 0)'),
  'a process of the machine by pidfd': attempt('os.pidfd_open(CANARY_PID)'),
  'settings of the kernel': `import os
print("ESCAPED" if any(os.access("/proc/" + name, os.W_OK) for name in ("sys/kernel/core_pattern", "sys/kernel/modprobe", "sys/vm/drop_caches", "sysrq-trigger", "sys/kernel/hostname", "sys/net/ipv4/ip_forward")) else "no")`,
  'the tree /sys':
    'import os\nprint("ESCAPED" if os.path.exists("/sys/kernel") or os.path.exists("/sys/fs/cgroup") else "no")',
  'its own limits': `import resource
try:
  resource.setrlimit(resource.RLIMIT_NOFILE, (100_000, 100_000)); print("ESCAPED")
except (ValueError, OSError): print("no")`,
  'a device of blocks': attempt('os.mknod("/tmp/disk", 0o60600, os.makedev(254, 0)); open("/tmp/disk", "rb").read(1)'),
  'programs that run as root': `import subprocess
for command in (["su", "-c", "id"], ["sudo", "-n", "id"], ["mount", "-t", "tmpfs", "none", "/tmp"]):
  try:
    if subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=3).returncode == 0: print("ESCAPED")
  except (OSError, subprocess.TimeoutExpired): pass
print("no")`,
  'write to a program': attempt('open("/proc/self/root/usr/bin/ajet-was-here", "w")'),
  'write to the root': attempt('open("/ajet-was-here", "w")'),
  'write to /dev': attempt('open("/dev/ajet-was-here", "w")'),
  'the name of the machine': call('libc.sethostname(b"taken", 5)'),
  'the clock of the machine': call('libc.settimeofday((ctypes.c_int64 * 2)(1, 0), None)'),
  'the log of the kernel': call('libc.klogctl(3, ctypes.create_string_buffer(100), 100)'),
  'characters for the terminal': `import fcntl
print("no")
for number in (0, 1, 2):
  try: fcntl.ioctl(number, 0x5412, b"x"); print("ESCAPED")
  except OSError: pass`,
  'calls of 32 bits': `import ctypes, mmap, os
if os.uname().machine == "x86_64":
  page = mmap.mmap(-1, 4096, prot=7)
  page.write(bytes.fromhex("53b836010000bb00000010cd805bc3"))
  result = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
  print("ESCAPED" if result == 0 else "no")`,
  'calls of x32': `${libc}print("ESCAPED" if x64 and libc.syscall(0x40000000 + 272, 0x10000000) == 0 else "no")`,
  'a trace of the last program':
    'import os\nprint("ESCAPED" if any("ajet" in name for folder in ("/tmp", "/work", "/dev/shm") for name in os.listdir(folder)) else "no")\nopen("/tmp/ajet", "w"); open("/dev/shm/ajet", "w")',
});

/** Prints ESCAPED if the expression is true in the interpreter. */
function truth(expression: string): string {
  return `let is = false; try { is = Boolean(${expression}) } catch {} print(is ? 'ESCAPED' : 'no')`;
}

const javascript = cases('javascript', {
  'modules of QuickJS': `import('std').then((std) => print('ESCAPED'), () => print('no'))`,
  'a module of data': `import('data:text/javascript,export default 1').then(() => print('ESCAPED'), () => print('no'))`,
  'a file as a module': `import('CANARY_FILE').then(() => print('ESCAPED'), () => print('no'))`,
  'objects of other runtimes': truth(
    `typeof Deno + typeof Bun + typeof Worker + typeof os + typeof bjson !== 'undefined'.repeat(5)`,
  ),
  'the maker of a host function': truth(`print.constructor('return typeof process')() === 'object'`),
  'the caller of a host function': truth('print.caller || print.arguments.callee.caller'),
  'memory of the interpreter': truth(
    `typeof Module !== 'undefined' || typeof HEAPU8 !== 'undefined' || typeof WebAssembly !== 'undefined'`,
  ),
  'a getter in an error': `throw { get message() { return typeof process }, get name() { return typeof process === 'object' ? print('ESCAPED') : 'no' } }`,
  'a value that pollutes': '({ ["__proto__"]: { polluted: 1 }, constructor: { prototype: { polluted: 1 } } })',
  'a value with toJSON': `({ toJSON: () => typeof process === 'object' ? 'ESCAPED' : 'no' })`,
  'a name of a function that the host reads': `const f = () => 1; Object.defineProperty(f, 'name', { get() { if (typeof process === 'object') print('ESCAPED') } }); f`,
  'an async stack': `Promise.reject(new Error('x')).catch((error) => print(/node:|quickjs-thread/.test(error.stack) ? 'ESCAPED' : 'no'))`,
  'a trace of the last program': `print(globalThis.left || Array.prototype.left ? 'ESCAPED' : 'no'); globalThis.left = 1; Array.prototype.left = 1`,
});

export const moreEscapes: readonly SandboxCase[] = [...python, ...javascript];
