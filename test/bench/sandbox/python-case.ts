import type { SandboxCase } from './cases.js';

/** The numbers of system calls on x64 and arm64. */
const callsAndFiles = String.raw`import ctypes, os, platform, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
numbers = dict(add_key=(248, 217), adjtimex=(159, 171), bpf=(321, 280), clone=(56, 220), clone3=(435, 435),
    fanotify_init=(300, 262), fanotify_mark=(301, 263), fsopen=(430, 430), init_module=(175, 105),
    io_uring_setup=(425, 425), keyctl=(250, 219), memfd_create=(319, 279), mount=(165, 40), mount_setattr=(442, 442),
    name_to_handle_at=(303, 264), open_by_handle_at=(304, 265), open_tree=(428, 428), perf_event_open=(298, 241),
    pidfd_getfd=(438, 438), pidfd_open=(434, 434), pidfd_send_signal=(424, 424), pivot_root=(155, 41),
    process_vm_readv=(310, 270), ptrace=(101, 117), setns=(308, 268), shmctl=(31, 195), syslog=(103, 116),
    umount2=(166, 39), unshare=(272, 97), userfaultfd=(323, 282))
x64 = platform.machine() == 'x86_64'
def raw(number, *values):
    whole = [ctypes.c_long(v) if isinstance(v, int) else v for v in values]
    result = libc.syscall(ctypes.c_long(number), *whole)
    return result if result >= 0 else -ctypes.get_errno()
def call(name, *values):
    return raw(numbers[name][0 if x64 else 1], *values)
def escaped():
    print('ESCAPED', flush=True)
def opened(path, flags):
    try:
        return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError):
        return -1
def listed(folder):
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
def pids():
    return [name for name in listed('/proc') if name.isdigit()]
`;

/** Returns a case in Python. Its code has functions that make any system call, open files and list processes. */
export function pythonCase(name: string, code: string): SandboxCase {
  return { name, language: 'python', code: callsAndFiles + code };
}

const bounds = String.raw`import ctypes, mmap, os, signal, socket, struct, sys, threading, time
signal.alarm(20)
end = time.time() + 20
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.madvise.argtypes = libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
def going():
    return time.time() < end
def fork():
    try:
        child = os.fork()
    except OSError:
        return -1
    if child == 0:
        signal.alarm(20)
    return child
`;

/** Returns a case in Python whose processes end after 20 seconds, even if no limit holds. */
export function pythonExhaustion(name: string, code: string): SandboxCase {
  return { name, language: 'python', code: bounds + code };
}
