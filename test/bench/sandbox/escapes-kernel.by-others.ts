import type { SandboxCase } from './cases.js';
import { pythonCase } from './python-case.js';

/** The cases of this file ask the kernel for something outside, and search for a network. */
export const exhaustions: readonly SandboxCase[] = [];

const networks: readonly SandboxCase[] = [
  pythonCase(
    'code connects to the port over all addresses of this machine',
    String.raw`
for address in ('127.0.0.1', 'localhost', '::1', '::ffff:127.0.0.1', '0.0.0.0', '127.1.2.3', '10.0.2.2', '172.17.0.1'):
    try:
        print(socket.create_connection((address, CANARY_PORT), timeout=0.5).recv(100))
    except TimeoutError:
        pass
    except OSError:
        continue
    escaped()`,
  ),
  pythonCase(
    'code connects to the port with multipath TCP and a fast open',
    String.raw`
for protocol in (262, 132, 0):
    try:
        link = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
        link.settimeout(1)
        link.sendto(b'hello', 0x20000000, ('127.0.0.1', CANARY_PORT))
    except OSError:
        continue
    escaped()`,
  ),
  pythonCase(
    'code has a route to the internet',
    String.raw`
for family, address in ((socket.AF_INET, '1.1.1.1'), (socket.AF_INET6, '2606:4700:4700::1111')):
    try:
        socket.socket(family, socket.SOCK_DGRAM).connect((address, 53))
    except OSError:
        continue
    escaped()`,
  ),
  pythonCase(
    'code sees a network card',
    String.raw`
names = set(listed('/sys/class/net')) | set(listed('/proc/sys/net/ipv4/conf')) - {'all', 'default'}
names |= {line.split(':')[0].strip() for line in open('/proc/net/dev') if ':' in line}
if names - {'lo', 'tunl0', 'sit0', 'ip6tnl0', 'gre0', 'gretap0', 'erspan0', 'ip_vti0', 'ip6_vti0', 'ip6gre0'}:
    escaped()`,
  ),
  pythonCase(
    'code connects to the abstract socket',
    String.raw`
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    try:
        socket.socket(socket.AF_UNIX, kind).connect('\0CANARY_SOCKET')
    except OSError:
        continue
    escaped()`,
  ),
  pythonCase(
    'code connects to the sockets of services',
    String.raw`
import stat
paths = ['/run/docker.sock', '/var/run/docker.sock', '/run/systemd/notify', '/run/dbus/system_bus_socket', '/dev/log']
for folder, folders, names in os.walk('/'):
    if folder == '/':
        folders[:] = [name for name in folders if name not in ('proc', 'sys', 'usr')]
    paths += [os.path.join(folder, name) for name in names]
for path in paths:
    if os.path.exists(path) and stat.S_ISSOCK(os.stat(path).st_mode):
        try:
            socket.socket(socket.AF_UNIX).connect(path)
        except OSError:
            continue
        print(path)
        escaped()`,
  ),
  pythonCase(
    'code lists the Unix sockets of the machine over netlink',
    String.raw`
link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4)
link.settimeout(2)
link.send(struct.pack('<IHHII', 40, 20, 0x301, 1, 0) + struct.pack('<BBHIIIQ', 1, 0, 0, 0xFFFFFFFF, 0, 1, 0))
while True:
    data = link.recv(1 << 16)
    if b'CANARY_SOCKET' in data:
        escaped()
    if struct.unpack_from('<H', data, 4)[0] in (2, 3):
        break`,
  ),
  pythonCase(
    'code reaches the hypervisor over vsock',
    String.raw`
import errno
for host in (2, 1, 0):
    link = socket.socket(40, socket.SOCK_STREAM)
    link.settimeout(1)
    if link.connect_ex((host, 1024)) in (0, errno.ECONNRESET, errno.EAGAIN):
        escaped()`,
  ),
  pythonCase(
    'code opens sockets of families that have no separate networks',
    String.raw`
for family in (31, 42, 35, 30, 21, 9, 26, 41):
    try:
        socket.socket(family, socket.SOCK_DGRAM)
    except OSError:
        continue
    print(family)
    escaped()`,
  ),
  pythonCase(
    'code enters the network of the socket that carries its output',
    String.raw`
import fcntl
for number in range(3):
    try:
        network = fcntl.ioctl(number, 0x894C)
    except OSError:
        continue
    print(os.readlink('/proc/self/fd/' + str(network)), os.readlink('/proc/self/ns/net'))
    if os.fstat(network).st_ino != os.stat('/proc/self/ns/net').st_ino:
        escaped()`,
  ),
];

const namespaces: readonly SandboxCase[] = [
  pythonCase(
    'code makes a namespace of users with unshare',
    String.raw`
if call('unshare', 0x10000000) == 0 or call('unshare', 0x50000000) == 0:
    escaped()`,
  ),
  pythonCase(
    'code makes a namespace with clone3, whose flags a filter cannot see',
    String.raw`
for flags in (0x10000000, 0x10020000, 0x50000000):
    size = 88
    arguments = ctypes.create_string_buffer(struct.pack('<QQQQQ', flags, 0, 0, 0, 17), size)
    result = call('clone3', arguments, size)
    if result == 0:
        os._exit(0)
    if result > 0:
        escaped()`,
  ),
  pythonCase(
    'code makes a namespace with clone and flags above 32 bits',
    String.raw`
for high in (0, 1 << 32, 1 << 40, 1 << 62):
    result = call('clone', 0x10000000 | 17 | high, 0, 0, 0, 0)
    if result == 0:
        os._exit(0)
    if result > 0:
        escaped()`,
  ),
  pythonCase(
    'code makes system calls of 32 bits',
    String.raw`
import mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes.fromhex('5389f889f3cd804863c05bc3'))
start = ctypes.addressof(ctypes.c_char.from_buffer(page))
interrupt = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_int, ctypes.c_int)(start)
if x64 and (interrupt(310, 0x10000000) == 0 or interrupt(288, 0) > 0):
    escaped()`,
  ),
  pythonCase(
    'code makes system calls of the x32 kind',
    String.raw`
if x64:
    for number, value in ((272, 0x10000000), (250, 0), (425, 8)):
        if raw(0x40000000 + number, value, -3, 1) >= 0:
            escaped()`,
  ),
  pythonCase(
    'code enters the namespaces of other processes',
    String.raw`
for pid in pids():
    for name in listed('/proc/' + pid + '/ns'):
        path = '/proc/' + pid + '/ns/' + name
        fd = opened(path, os.O_RDONLY)
        if fd >= 0 and os.fstat(fd).st_ino != os.stat('/proc/self/ns/' + name).st_ino and call('setns', fd, 0) == 0:
            escaped()
    held = call('pidfd_open', int(pid), 0)
    if pid != str(os.getpid()) and call('setns', held, 0x10000000) == 0:
        escaped()`,
  ),
  pythonCase(
    'code goes from its namespaces to those around it',
    String.raw`
import fcntl
for name, request in (('mnt', 0x8010B70B), ('mnt', 0x8010B70C), ('user', 0xB702), ('pid', 0xB702)):
    try:
        fd = fcntl.ioctl(os.open('/proc/self/ns/' + name, os.O_RDONLY), request, ctypes.create_string_buffer(16))
    except OSError:
        continue
    print(name, request)
    escaped()`,
  ),
  pythonCase(
    'code opens namespaces by guessing their handles',
    String.raw`
class Handle(ctypes.Structure):
    _fields_ = [('size', ctypes.c_uint), ('kind', ctypes.c_int), ('id', ctypes.c_ulonglong),
        ('type', ctypes.c_uint), ('inode', ctypes.c_uint)]
types = (0x08000000, 0x04000000, 0x10000000, 0x20000000, 0x02000000, 0x80, 0x40000000, 0x20000)
own = {os.stat('/proc/self/ns/' + name).st_ino for name in os.listdir('/proc/self/ns')}
for index, kind in enumerate(types):
    for number in range(1, 3000):
        for inode in (0, 0xEFFFFFFF - index):
            fd = call('open_by_handle_at', -10003, ctypes.byref(Handle(16, 0xF1, number, kind, inode)), os.O_RDONLY)
            if fd >= 0:
                if os.fstat(fd).st_ino not in own:
                    escaped()
                os.close(fd)`,
  ),
  pythonCase(
    'code mounts file systems with the old and the new system calls',
    String.raw`
os.makedirs('/work/m', exist_ok=True)
for kind in (b'proc', b'sysfs', b'tmpfs', b'cgroup2', b'debugfs'):
    if call('mount', b'none', b'/work/m', kind, 0, 0) == 0 or call('fsopen', kind, 0) >= 0:
        escaped()
if call('mount', b'/', b'/work/m', 0, 0x5000, 0) == 0 or call('open_tree', -100, b'/', 0x8001) >= 0:
    escaped()`,
  ),
  pythonCase(
    'code makes the mounts of the system writable',
    String.raw`
for folder in (b'/usr', b'/', b'/proc', b'/given'):
    attributes = ctypes.create_string_buffer(struct.pack('<QQQQ', 0, 1, 0, 0), 32)
    if call('mount', 0, folder, 0, 0x1020, 0) == 0 or call('mount_setattr', -100, folder, 0, attributes, 32) == 0:
        escaped()`,
  ),
  pythonCase(
    'code removes mounts and reads what they cover',
    String.raw`
os.chdir('/')
call('pivot_root', b'.', b'.')
for folder in (b'/work', b'/tmp', b'/dev/shm', b'/proc', b'/usr', b'.'):
    if call('umount2', folder, 2) == 0:
        print(folder)
        escaped()
print(open('CANARY_FILE').read())`,
  ),
  pythonCase(
    'code changes its root and leaves the new root by an open folder',
    String.raw`
outer = os.open('/', os.O_RDONLY)
os.makedirs('/work/root', exist_ok=True)
os.chroot('/work/root')
os.fchdir(outer)
for _ in range(40):
    os.chdir('..')
os.chroot('.')
print(open('CANARY_FILE').read())`,
  ),
];

export const escapes: readonly SandboxCase[] = [...networks, ...namespaces];
