import type { SandboxCase } from './cases.js';
import { pythonCase } from './python-case.js';

/** The cases of this file use devices, settings of the kernel and privileges. */
export const exhaustions: readonly SandboxCase[] = [];

const settings: readonly SandboxCase[] = [
  pythonCase(
    'code opens the devices of the machine',
    String.raw`
import stat
harmless = ('null', 'zero', 'full', 'random', 'urandom', 'tty', 'console', 'ptmx')
for folder, _, names in os.walk('/dev'):
    for name in names:
        path = os.path.join(folder, name)
        mode = os.lstat(path).st_mode
        if name not in harmless and (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)) and opened(path, os.O_RDONLY) >= 0:
            print(path)
            escaped()`,
  ),
  pythonCase(
    'code makes device files of disks and of memory',
    String.raw`
import stat
for kind, major, minor in ((stat.S_IFBLK, 8, 0), (stat.S_IFBLK, 254, 0), (stat.S_IFBLK, 259, 0), (stat.S_IFCHR, 1, 1)):
    for folder in ('/work', '/tmp', '/dev/shm', '/dev'):
        try:
            os.mknod(folder + '/device', kind | 0o600, os.makedev(major, minor))
        except OSError:
            continue
        if opened(folder + '/device', os.O_RDONLY) >= 0:
            escaped()
        os.unlink(folder + '/device')`,
  ),
  pythonCase(
    'code types into the terminal of the user',
    String.raw`
import fcntl
numbers = [opened(path, os.O_RDWR) for path in ('/dev/tty', '/dev/console', '/proc/1/fd/0')] + [0, 1, 2]
for number in numbers:
    for request in (0x5412, 0x541C):
        try:
            fcntl.ioctl(number, request, b'\0')
        except (OSError, ValueError):
            continue
        escaped()`,
  ),
  pythonCase(
    'code opens the settings that name programs for the kernel to start',
    String.raw`
for name in ('core_pattern', 'modprobe', 'hotplug', 'poweroff_cmd', 'usermodehelper/bset'):
    if opened('/proc/sys/kernel/' + name, os.O_WRONLY) >= 0:
        escaped()
for path in ('/sys/kernel/uevent_helper', '/proc/sys/fs/binfmt_misc/register'):
    if opened(path, os.O_WRONLY) >= 0:
        escaped()`,
  ),
  pythonCase(
    'code opens any setting of the kernel for writing',
    String.raw`
paths = ['/proc/sysrq-trigger', '/proc/mtrr', '/proc/irq/default_smp_affinity', '/proc/acpi/wakeup', '/proc/driver/rtc']
for folder, _, names in os.walk('/proc/sys'):
    if not folder.startswith('/proc/sys/net'):
        paths += [os.path.join(folder, name) for name in names]
for folder, _, names in os.walk('/proc/bus'):
    paths += [os.path.join(folder, name) for name in names]
for path in paths:
    if opened(path, os.O_WRONLY) >= 0:
        print(path)
        escaped()`,
  ),
  pythonCase(
    'code opens attributes of hardware for writing',
    String.raw`
count = 0
for folder, _, names in os.walk('/sys'):
    for name in names:
        count += 1
        if count < 60000 and not folder.startswith('/sys/fs/cgroup'):
            if opened(os.path.join(folder, name), os.O_WRONLY) >= 0:
                print(folder, name)
                escaped()`,
  ),
  pythonCase(
    'code leaves its control group',
    String.raw`
folders = [line.split()[4] for line in open('/proc/self/mountinfo') if ' - cgroup' in line] + ['/sys/fs/cgroup']
for top in folders:
    for name in ('cgroup.procs', 'tasks', 'memory.max', 'pids.max', 'release_agent', 'cgroup.subtree_control'):
        if opened(top + '/' + name, os.O_WRONLY) >= 0:
            escaped()
    try:
        os.mkdir(top + '/left')
    except OSError:
        continue
    escaped()`,
  ),
  pythonCase(
    'code reads kernel memory, its addresses and its log',
    String.raw`
for path in ('/proc/kcore', '/dev/mem', '/dev/kmem', '/dev/kmsg', '/proc/kmsg', '/proc/kpageflags', '/dev/core'):
    if opened(path, os.O_RDONLY) >= 0:
        print(path)
        escaped()
if any(int(line.split()[0], 16) for line in open('/proc/kallsyms')):
    escaped()`,
  ),
  pythonCase(
    'code reads the log of the kernel with syslog',
    String.raw`
text = ctypes.create_string_buffer(1 << 16)
if call('syslog', 3, text, 1 << 16) > 0:
    escaped()`,
  ),
  pythonCase(
    'code loads a module into the kernel',
    String.raw`
import errno
if call('init_module', ctypes.create_string_buffer(64), 64, b'') not in (-errno.EPERM, -errno.ENOSYS, -errno.EACCES):
    escaped()`,
  ),
  pythonCase(
    'code sets the clock of the machine',
    String.raw`
clock = ctypes.create_string_buffer(208)
call('adjtimex', clock)
struct.pack_into('<I', clock, 0, 4)
if call('adjtimex', clock) >= 0:
    escaped()`,
  ),
  pythonCase(
    'code gets access to the ports of the hardware',
    String.raw`
if x64 and (raw(172, 3) == 0 or raw(173, 0x80, 1, 1) == 0):
    escaped()`,
  ),
];

const privileges: readonly SandboxCase[] = [
  pythonCase(
    'code becomes root',
    String.raw`
status = open('/proc/self/status').read()
effective = int(status.split('CapEff:')[1].split()[0], 16)
if effective & 0x200000 and '4294967295' in open('/proc/self/uid_map').read():
    escaped()
if os.getuid() != 0:
    os.setresuid(0, 0, 0)
    escaped()`,
  ),
  pythonCase(
    'code starts programs that change their user',
    String.raw`
import glob, stat, subprocess
for path in sorted(set(glob.glob('/usr/bin/*') + glob.glob('/usr/sbin/*') + glob.glob('/bin/*')))[:5000]:
    if not os.path.isfile(path) or not os.stat(path).st_mode & (stat.S_ISUID | stat.S_ISGID):
        continue
    child = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    users = set()
    for _ in range(40):
        try:
            users |= set(open('/proc/' + str(child.pid) + '/status').read().split('Uid:')[1].split('\n')[0].split())
        except OSError:
            break
    child.kill()
    if users - {str(os.getuid())}:
        print(path, users)
        escaped()`,
  ),
  pythonCase(
    'code raises its priority above all other programs',
    String.raw`
for raise_it in (
    lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    lambda: os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) - 1),
):
    try:
        raise_it()
    except OSError:
        continue
    escaped()`,
  ),
  pythonCase(
    'code raises its own limits',
    String.raw`
import resource
for name in dir(resource):
    if name.startswith('RLIMIT_'):
        kind = getattr(resource, name)
        soft, hard = resource.getrlimit(kind)
        try:
            if hard != -1:
                resource.setrlimit(kind, (soft, hard + 1))
                print(name)
                escaped()
        except (OSError, ValueError):
            pass`,
  ),
  pythonCase(
    'code protects itself from the end that the kernel chooses if memory is short',
    String.raw`
value = int(open('/proc/self/oom_score_adj').read())
if value > -1000:
    with open('/proc/self/oom_score_adj', 'w') as file:
        file.write(str(max(value - 500, -1000)))
    escaped()`,
  ),
  pythonCase(
    'code opens a ring for system calls that a filter does not see',
    String.raw`
if call('io_uring_setup', 8, ctypes.create_string_buffer(120)) >= 0:
    escaped()`,
  ),
  pythonCase(
    'code keeps a key in the keyring of its user',
    String.raw`
if call('add_key', b'user', b'left', b'value', 5, -4) >= 0 or call('keyctl', 0, -4, 1) >= 0:
    escaped()`,
  ),
  pythonCase(
    'code stops the kernel at a page fault',
    String.raw`
if call('userfaultfd', os.O_CLOEXEC) >= 0:
    escaped()`,
  ),
  pythonCase(
    'code counts events of the processors and of the process',
    String.raw`
attributes = ctypes.create_string_buffer(128)
for kind in (0, 1):
    struct.pack_into('<II', attributes, 0, kind, 128)
    for pid, processor in ((-1, 0), (CANARY_PID, -1), (1, -1)):
        if call('perf_event_open', attributes, pid, processor, -1, 0) >= 0:
            escaped()`,
  ),
  pythonCase(
    'code lists the programs that the kernel runs',
    String.raw`
attributes = ctypes.create_string_buffer(128)
for command in (11, 12, 23):
    if call('bpf', command, attributes, 128) == 0:
        escaped()`,
  ),
  pythonCase(
    'code attaches to the shared memory of other programs',
    String.raw`
state = ctypes.create_string_buffer(256)
for index in range(1000):
    if call('shmctl', index, 13, state) >= 0:
        escaped()
if len(open('/proc/sysvipc/shm').readlines()) > 1 or listed('/dev/mqueue'):
    escaped()`,
  ),
  pythonCase(
    'code watches all files that the machine opens',
    String.raw`
for flags in (0, 0x200, 0x600):
    fd = call('fanotify_init', flags, 0)
    if fd >= 0 and call('fanotify_mark', fd, 0x101, 0x20, -100, b'/usr') == 0:
        escaped()
    if fd >= 0 and call('fanotify_mark', fd, 0x11, 0x20, -100, b'/usr') == 0:
        escaped()`,
  ),
  pythonCase(
    'code sees which programs the machine starts',
    String.raw`
fd = libc.inotify_init1(os.O_NONBLOCK)
folders = (b'/usr/bin', b'/usr/sbin', b'/usr/lib/' + platform.machine().encode() + b'-linux-gnu', b'/usr/lib64')
watched = [libc.inotify_add_watch(fd, folder, 0x20) for folder in folders]
for _ in range(30):
    time.sleep(0.1)
    try:
        print(os.read(fd, 4096)[16:].split(b'\0')[0])
    except BlockingIOError:
        continue
    escaped()
    break`,
  ),
];

export const escapes: readonly SandboxCase[] = [...settings, ...privileges];
