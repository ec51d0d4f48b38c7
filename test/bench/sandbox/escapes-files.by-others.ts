import type { SandboxCase } from './cases.js';
import { pythonCase } from './python-case.js';

/** The cases of this file reach for files and processes outside. */
export const exhaustions: readonly SandboxCase[] = [];

const mark = 'left-by-an-earlier-run';

const files: readonly SandboxCase[] = [
  pythonCase('code reads the file by its path', String.raw`print(open('CANARY_FILE').read())`),
  pythonCase(
    'code climbs out of the work folder through open folders',
    String.raw`
fd = os.open('.', os.O_RDONLY)
for _ in range(40):
    fd = os.open('..', os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
print(os.read(os.open('CANARY_FILE'.lstrip('/'), os.O_RDONLY, dir_fd=fd), 1000))`,
  ),
  pythonCase(
    'code reads the file through the root and the folder of each process',
    String.raw`
for pid in pids() + ['CANARY_PID', 'self', 'thread-self']:
    for link in ('root', 'cwd', 'root/..', 'cwd/../../../..'):
        fd = opened('/proc/' + pid + '/' + link + 'CANARY_FILE', os.O_RDONLY)
        if fd >= 0:
            print(os.read(fd, 1000))`,
  ),
  pythonCase(
    'code searches all folders for the file',
    String.raw`
wanted = os.path.basename('CANARY_FILE')
for folder, folders, names in os.walk('/'):
    if folder == '/':
        folders[:] = [name for name in folders if name not in ('proc', 'sys')]
    if wanted in names:
        print(open(os.path.join(folder, wanted)).read())`,
  ),
  pythonCase(
    'code replaces its program with links to the file',
    String.raw`
for name in ('main.py', 'result', 'stdout', 'a', 'b'):
    for link in (os.symlink, os.link):
        try:
            if os.path.lexists(name):
                os.unlink(name)
            link('CANARY_FILE', name)
            print(open(name).read())
        except OSError:
            pass`,
  ),
  pythonCase(
    'code makes a hard link to a system program and writes to it',
    String.raw`
for source in ('/usr/bin/env', '/usr/bin/python3', sys.executable):
    for folder in ('/work', '/tmp', '/dev/shm'):
        try:
            os.link(source, folder + '/linked', follow_symlinks=True)
        except OSError:
            continue
        if opened(folder + '/linked', os.O_WRONLY) >= 0:
            escaped()`,
  ),
  pythonCase(
    'code opens each file of the system for writing',
    String.raw`
count = 0
for top in ('/etc', '/usr/bin', '/usr/sbin', '/usr/lib', '/boot', '/root', '/home', '/var', '/opt', '/srv'):
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            count += 1
            if count < 40000 and os.path.isfile(path) and opened(path, os.O_WRONLY) >= 0:
                escaped()`,
  ),
  pythonCase(
    'code adds a module to the libraries of the host',
    String.raw`
for folder in [path for path in sys.path if not path.startswith(('/work', '/tmp'))] + ['/usr/lib/python3/dist-packages']:
    for name in ('usercustomize.py', '__pycache__/left.pyc', 'left.pth'):
        path = os.path.join(folder, name)
        fd = opened(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        if fd >= 0:
            os.unlink(path)
            escaped()`,
  ),
  pythonCase(
    'code changes the mode, the time and the attributes of a system file',
    String.raw`
path = '/usr/bin/env'
state = os.stat(path)
for change in (
    lambda: os.chmod(path, state.st_mode),
    lambda: os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns)),
    lambda: os.chown(path, state.st_uid, state.st_gid),
    lambda: (os.setxattr(path, 'user.left', b'1'), os.removexattr(path, 'user.left')),
):
    try:
        change()
    except OSError:
        continue
    escaped()`,
  ),
  pythonCase(
    'code creates a file in each mounted folder that is on a disk',
    String.raw`
memory = ('tmpfs', 'proc', 'sysfs', 'devtmpfs', 'devpts', 'mqueue', 'cgroup', 'cgroup2', 'ramfs', 'overlay')
for line in open('/proc/self/mountinfo'):
    left, right = line.split(' - ')
    folder = left.split()[4]
    if right.split()[0] in memory:
        continue
    path = folder + '/left' if os.path.isdir(folder) else folder
    fd = opened(path, os.O_WRONLY | (os.O_CREAT | os.O_EXCL if os.path.isdir(folder) else 0))
    if fd >= 0:
        escaped()`,
  ),
  pythonCase(
    'code opens the program of process 1 for writing',
    String.raw`
for pid in pids():
    held = opened('/proc/' + pid + '/exe', os.O_PATH)
    for path in ('/proc/' + pid + '/exe', '/proc/self/fd/' + str(held)):
        if opened(path, os.O_WRONLY) >= 0:
            escaped()`,
  ),
  pythonCase(
    'code opens the file from a handle of the root folder',
    String.raw`
class Handle(ctypes.Structure):
    _fields_ = [('size', ctypes.c_uint), ('kind', ctypes.c_int), ('bytes', ctypes.c_ubyte * 128)]
for folder in ('/usr', '/work', '/given', '/etc', '/'):
    mounted = opened(folder, os.O_RDONLY)
    for inode in (2, 32, 64, 96, 128, 256):
        handle = Handle(8, 1)
        handle.bytes[:8] = struct.pack('<II', inode, 0)
        fd = call('open_by_handle_at', mounted, ctypes.byref(handle), os.O_RDONLY)
        if fd >= 0:
            print(listed('/proc/self/fd/' + str(fd)))
            print(os.read(os.open('CANARY_FILE'.lstrip('/'), os.O_RDONLY, dir_fd=fd), 1000))`,
  ),
  pythonCase(
    'code leaves marks in all folders for later runs',
    String.raw`
import socket as sockets
for folder in ('/tmp', '/dev/shm', '/work', '/given', '/var/tmp', '/run', '/dev/mqueue', os.path.expanduser('~')):
    fd = opened(folder + '/${mark}', os.O_WRONLY | os.O_CREAT)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 3)
        listener = sockets.socket(sockets.AF_UNIX)
        listener.bind('\0${mark}')
        listener.listen()
        time.sleep(15)
    os._exit(0)`,
  ),
  pythonCase(
    'code finds the marks of an earlier run',
    String.raw`
for folder in ('/tmp', '/dev/shm', '/work', '/given', '/var/tmp', '/run', '/dev/mqueue', os.path.expanduser('~')):
    if '${mark}' in listed(folder):
        escaped()
socket.socket(socket.AF_UNIX).connect('\0${mark}')
escaped()`,
  ),
  pythonCase(
    'code returns objects that run on the machine that unpickles them',
    String.raw`
import pickle
class Reader:
    def __reduce__(self):
        return (eval, ("open('CANARY_FILE').read()",))
data = pickle.dumps(Reader())
for name in ('result.pkl', 'result.pickle', 'output', 'result.json'):
    open(name, 'wb').write(data)
sys.stdout.buffer.write(data)
Reader()`,
  ),
  pythonCase(
    'code prints the variables of all frames and modules around it',
    String.raw`
import gc
frame = sys._getframe()
while frame:
    print(frame.f_code.co_filename, [str(value)[:200] for value in frame.f_locals.values()])
    frame = frame.f_back
for thing in gc.get_objects():
    if isinstance(thing, dict) and 'SECRET' in thing:
        print(thing['SECRET'])
for name, module in list(sys.modules.items()):
    path = getattr(module, '__file__', None) or ''
    if path and not path.startswith(('/usr', '/lib', '/work')):
        print(name, path, vars(module))`,
  ),
];

const processes: readonly SandboxCase[] = [
  pythonCase('code prints its environment', String.raw`print(dict(os.environ), sys.argv, sys.orig_argv)`),
  pythonCase(
    'code prints the environment of each process',
    String.raw`
for pid in pids() + ['CANARY_PID']:
    fd = opened('/proc/' + pid + '/environ', os.O_RDONLY)
    if fd >= 0:
        print(pid, os.read(fd, 100000))`,
  ),
  pythonCase(
    'code searches its own memory for variables that were removed',
    String.raw`
import re
memory = open('/proc/self/mem', 'rb', 0)
for line in open('/proc/self/maps'):
    start, end = [int(part, 16) for part in line.split()[0].split('-')]
    if ' r' in line and end - start < 50_000_000 and '[v' not in line:
        try:
            memory.seek(start)
            for found in re.findall(rb'SECRE' + rb'T=[^\0]*', memory.read(end - start)):
                print(found[:200])
        except (OSError, OverflowError, ValueError):
            pass`,
  ),
  pythonCase(
    'code prints the memory of the stack of process 1',
    String.raw`
local = ctypes.create_string_buffer(1 << 20)
class Part(ctypes.Structure):
    _fields_ = [('base', ctypes.c_void_p), ('size', ctypes.c_size_t)]
for pid in pids():
    if pid == str(os.getpid()):
        continue
    fd = opened('/proc/' + pid + '/maps', os.O_RDONLY)
    for line in os.read(fd, 200000).decode().splitlines() if fd >= 0 else []:
        start, end = [int(part, 16) for part in line.split()[0].split('-')]
        if '[stack]' in line or '[heap]' in line:
            mine, theirs = Part(ctypes.addressof(local), 1 << 20), Part(start, end - start)
            size = call('process_vm_readv', int(pid), ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)
            print(local.raw[: max(size, 0)].replace(b'\0', b' '))`,
  ),
  pythonCase(
    'code attaches to each process as a debugger',
    String.raw`
for pid in pids() + ['CANARY_PID']:
    if pid != str(os.getpid()) and call('ptrace', 0x4206, int(pid), 0, 0) == 0:
        escaped()`,
  ),
  pythonCase(
    'code sends signal 0 to the process',
    String.raw`
os.kill(CANARY_PID, 0)
escaped()`,
  ),
  pythonCase(
    'code opens a descriptor of the process and takes its files',
    String.raw`
for pid in [CANARY_PID, os.getppid(), 1]:
    fd = call('pidfd_open', pid, 0)
    if fd >= 0 and (pid == CANARY_PID or any(call('pidfd_getfd', fd, number, 0) >= 0 for number in range(300))):
        escaped()`,
  ),
  pythonCase(
    'code makes the process the owner of its pipe',
    String.raw`
import fcntl
fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, CANARY_PID)
escaped()`,
  ),
  pythonCase(
    'code signals a group of processes whose leader is outside',
    String.raw`
import signal
if os.getpgrp() == 0 or os.getsid(0) == 0:
    os.killpg(0, signal.SIGWINCH)
    escaped()`,
  ),
  pythonCase(
    'code reads the priority, the processors and the limits of the process',
    String.raw`
import resource
for read in (
    lambda: os.getpriority(os.PRIO_PROCESS, CANARY_PID),
    lambda: os.sched_getaffinity(CANARY_PID),
    lambda: os.sched_getscheduler(CANARY_PID),
    lambda: resource.prlimit(CANARY_PID, resource.RLIMIT_NOFILE),
    lambda: os.getpgid(CANARY_PID),
    lambda: os.stat('/proc/CANARY_PID'),
):
    try:
        read()
    except OSError:
        continue
    escaped()`,
  ),
  pythonCase(
    'code opens other processes by guessing the handles of their descriptors',
    String.raw`
class Handle(ctypes.Structure):
    _fields_ = [('size', ctypes.c_uint), ('kind', ctypes.c_int), ('inode', ctypes.c_ulonglong)]
handle, mounted = Handle(8), ctypes.c_int()
own = call('pidfd_open', os.getpid(), 0)
call('name_to_handle_at', own, b'', ctypes.byref(handle), ctypes.byref(mounted), 0x1000)
last = handle.inode
for inode in range(max(1, last - 100000), last):
    handle.inode = inode
    fd = call('open_by_handle_at', -10002, ctypes.byref(handle), os.O_RDONLY)
    if fd >= 0:
        lines = open('/proc/self/fdinfo/' + str(fd)).read()
        if any(line.split()[1] in ('0', 'CANARY_PID') for line in lines.splitlines() if line.startswith('Pid:')):
            escaped()
        os.close(fd)`,
  ),
  pythonCase(
    'code opens the descriptors of other processes',
    String.raw`
for pid in pids():
    for number in listed('/proc/' + pid + '/fd') if pid != str(os.getpid()) else []:
        path = '/proc/' + pid + '/fd/' + number
        if os.readlink(path) != '/dev/null' and opened(path, os.O_RDONLY) >= 0:
            escaped()`,
  ),
  pythonCase(
    'code uses the descriptors that it inherited',
    String.raw`
import stat
for number in range(3, 1024):
    try:
        mode = os.fstat(number).st_mode
        path = os.readlink('/proc/self/fd/' + str(number))
    except OSError:
        continue
    if path not in ('/dev/null', '/work/main.py') and not path.startswith('/proc/'):
        print(number, stat.filemode(mode), path)
        escaped()
for number in range(3):
    if stat.S_ISREG(os.fstat(number).st_mode) or stat.S_ISDIR(os.fstat(number).st_mode):
        escaped()`,
  ),
];

export const escapes: readonly SandboxCase[] = [...files, ...processes];
