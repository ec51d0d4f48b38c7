import type { SandboxCase } from './cases.js';
import { pythonExhaustion } from './python-case.js';

/** The cases of this file take memory of the program and of the kernel. */
export const escapes: readonly SandboxCase[] = [];

const memory: readonly SandboxCase[] = [
  pythonExhaustion('one array of bytes takes 2 GB', String.raw`data = bytearray(b'x') * (2 << 30)`),
  pythonExhaustion(
    'small objects fill the memory',
    String.raw`
kept = []
while going() and len(kept) < 6_000_000:
    kept.append((len(kept), {len(kept)}))`,
  ),
  pythonExhaustion(
    'memory is mapped and never touched',
    String.raw`
maps = []
for _ in range(512):
    try:
        maps.append(mmap.mmap(-1, 4 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    except OSError:
        break
while going():
    time.sleep(1)`,
  ),
  pythonExhaustion(
    'children share memory that all of them write',
    String.raw`
maps = []
for _ in range(32):
    try:
        maps.append(mmap.mmap(-1, 64 << 20))
    except OSError:
        break
    if fork() == 0:
        for start in range(0, 64 << 20, 4096):
            maps[-1][start] = 1
        while going():
            time.sleep(0.1)
        os._exit(0)
while going():
    time.sleep(0.1)`,
  ),
  pythonExhaustion(
    'eight children fill 200 MB each',
    String.raw`
for _ in range(8):
    if fork() == 0:
        data = b'x' * (200 << 20)
        time.sleep(15)
        os._exit(0)
time.sleep(15)`,
  ),
  pythonExhaustion(
    'page tables grow for pages that are only read',
    String.raw`
size = 400 << 20
for _ in range(60):
    if fork() == 0:
        touched = 0
        while size and touched < 4000:
            start = libc.mmap(None, size, 1, 0x4022, -1, 0)
            if start == ctypes.c_void_p(-1).value:
                size //= 2
                continue
            libc.madvise(start, size, 15)
            for place in range(start, start + size, 2 << 20):
                ctypes.c_char.from_address(place).value
                touched += 1
        time.sleep(15)
        os._exit(0)
time.sleep(15)`,
  ),
  pythonExhaustion(
    'a mapping is split into 60,000 parts in each of 50 children',
    String.raw`
for _ in range(50):
    if fork() == 0:
        start = libc.mmap(None, 60_000 * 4096, 1, 0x4022, -1, 0)
        for place in range(start, start + 60_000 * 4096, 8192):
            libc.mprotect(place, 4096, 0)
        time.sleep(15)
        os._exit(0)
time.sleep(15)`,
  ),
  pythonExhaustion(
    'a compressed file unpacks to 2 GB',
    String.raw`
import zlib
packer = zlib.compressobj(9)
data = b''.join(packer.compress(bytes(1 << 20)) for _ in range(2000)) + packer.flush()
unpacked = zlib.decompress(data)`,
  ),
  pythonExhaustion(
    'the width of a number is two billion',
    String.raw`kept = '%2000000000d' % 1 + '{:>1000000}'.format(2)`,
  ),
  pythonExhaustion(
    'files without names keep memory',
    String.raw`
written = 0
for number in range(40):
    file = libc.memfd_create(b'a', 0)
    while file >= 0 and going() and written < 2 << 30:
        try:
            written += os.write(file, b'x' * (1 << 20))
        except OSError:
            break`,
  ),
  pythonExhaustion(
    'segments of System V stay in memory',
    String.raw`
libc.shmat.restype = ctypes.c_void_p
for number in range(64):
    segment = libc.shmget(0, 32 << 20, 0o1600)
    place = libc.shmat(segment, None, 0) if segment >= 0 else None
    if segment >= 0 and place != ctypes.c_void_p(-1).value:
        ctypes.memset(place, 1, 32 << 20)
        libc.shmdt(ctypes.c_void_p(place))`,
  ),
];

const kernel: readonly SandboxCase[] = [
  pythonExhaustion(
    'three folders in memory are filled with files',
    String.raw`
written = 0
for folder in ('/tmp', '/work', '/dev/shm', '/var/tmp', '/run'):
    for number in range(400):
        try:
            with open(folder + '/%d' % number, 'wb') as file:
                while going() and written < 2 << 30:
                    written += file.write(b'x' * (1 << 20))
        except OSError:
            continue`,
  ),
  pythonExhaustion(
    'deleted files stay open',
    String.raw`
kept = []
for number in range(480):
    file = open('/tmp/deleted', 'wb', 0)
    os.unlink('/tmp/deleted')
    kept.append(file)
    try:
        file.write(b'x' * (4 << 20))
    except OSError:
        pass
while going():
    time.sleep(1)`,
  ),
  pythonExhaustion(
    'empty files use all inodes',
    String.raw`
for folder in ('/tmp', '/work', '/dev/shm'):
    for number in range(400_000):
        if not going():
            break
        try:
            os.mknod(folder + '/' + 'n' * 200 + str(number))
        except OSError:
            break`,
  ),
  pythonExhaustion(
    'folders are nested without end',
    String.raw`
depth = 0
while going() and depth < 200_000:
    try:
        os.mkdir('d')
        os.chdir('d')
        depth += 1
    except OSError:
        break`,
  ),
  pythonExhaustion(
    'attributes of files take memory',
    String.raw`
count = 0
while going() and count < 45_000:
    path = '/tmp/%d' % count
    try:
        os.close(os.open(path, os.O_CREAT))
        for number in range(10):
            os.setxattr(path, 'user.%d' % number, b'x' * 4000)
    except OSError:
        pass
    count += 1`,
  ),
  pythonExhaustion(
    'a sparse file of a petabyte is made and mapped',
    String.raw`
for size in (1 << 50, 1 << 40, 60 << 20):
    try:
        os.truncate(os.open('/work/sparse', os.O_RDWR | os.O_CREAT), size)
    except OSError:
        os.truncate('/work/sparse', 0) if os.path.exists('/work/sparse') else None
os.posix_fallocate(os.open('/work/sparse', os.O_RDWR | os.O_CREAT), 0, 2 << 30)`,
  ),
  pythonExhaustion(
    'pipes of many children are full',
    String.raw`
import fcntl
for _ in range(8):
    if fork() == 0:
        for _ in range(200):
            try:
                reader, writer = os.pipe2(os.O_NONBLOCK)
                fcntl.fcntl(writer, 1031, 1 << 20)
                while True:
                    os.write(writer, b'x' * 65536)
            except OSError:
                continue
        time.sleep(15)
        os._exit(0)
time.sleep(15)`,
  ),
  pythonExhaustion(
    'sockets are full of data that nobody reads',
    String.raw`
for _ in range(8):
    if fork() == 0:
        kept = []
        for _ in range(240):
            try:
                pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
                kept.append(pair)
                pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
                pair[0].setblocking(False)
                while True:
                    pair[0].send(b'x' * 65536)
            except OSError:
                continue
        time.sleep(15)
        os._exit(0)
time.sleep(15)`,
  ),
  pythonExhaustion(
    'descriptors are hidden in messages between sockets',
    String.raw`
kept = []
for number in range(200):
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    left.setblocking(False)
    kept.append(right)
    try:
        while going():
            file = open('/dev/zero')
            socket.send_fds(left, [b'x'], [file.fileno()] * 200)
            file.close()
    except OSError:
        pass
    left.close()
time.sleep(10)`,
  ),
  pythonExhaustion(
    'locks of files take memory of the kernel',
    String.raw`
import fcntl
file = open('/tmp/locked', 'wb')
for number in range(2_000_000):
    if not going():
        break
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number * 2)`,
  ),
  pythonExhaustion(
    'the kernel remembers names that do not exist',
    String.raw`
number = 0
while going() and number < 5_000_000:
    number += 1
    os.path.exists('/usr/share/' + 'n' * 150 + str(number))`,
  ),
  pythonExhaustion(
    'watches and events use the tables of the kernel',
    String.raw`
import select
kept = []
try:
    while len(kept) < 20_000:
        kept += [os.eventfd(0), libc.inotify_init1(0), select.epoll(), libc.timerfd_create(1, 0)]
        for name in os.listdir('/usr/lib'):
            libc.inotify_add_watch(kept[-3], b'/usr/lib/' + name.encode(), 0xFFF)
except OSError:
    time.sleep(10)`,
  ),
];

export const exhaustions: readonly SandboxCase[] = [...memory, ...kernel];
