/**
 * Generates the seccomp filter of bubblewrap, a program for the kernel's packet filter that refuses system calls. The
 * filter refuses calls that reach past the namespaces (mounts, nested namespaces, keyrings, io_uring, vsock,
 * debugging). It also refuses memory that belongs to no process (memfd, System V IPC), because such memory cannot be
 * counted.
 */

/** The number of a system call on x64 and on arm64. Numbers from 424 are the same everywhere. */
type Numbers = readonly [x64: number | null, arm64: number | null];

const refused: Readonly<Record<string, Numbers>> = {
  unshare: [272, 97],
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_tree_attr: [467, 467],
  quotactl_fd: [443, 443],
  quotactl: [179, 60],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  kcmp: [312, 272],
  pidfd_getfd: [438, 438],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  syslog: [103, 116],
  iopl: [172, null],
  ioperm: [173, null],
  modify_ldt: [154, null],
  uselib: [134, null],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  fanotify_init: [300, 262],
  vhangup: [153, 58],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  mbind: [237, 235],
  set_mempolicy: [238, 237],
  migrate_pages: [256, 238],
  move_pages: [279, 239],
  lookup_dcookie: [212, 18],
  lsm_set_self_attr: [460, 460],
};

/** Calls that fail as if the kernel did not have them, so that programs use other calls. */
const absent: Readonly<Record<string, Numbers>> = {
  clone3: [435, 435], // its flags are in memory, which a filter cannot read
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  inotify_init: [253, null], // the system's folders are shared, so watches show what other programs open
  inotify_init1: [294, 26],
  inotify_add_watch: [254, 27],
  memfd_create: [319, 279],
  memfd_secret: [447, 447],
  shmget: [29, 194],
  msgget: [68, 186],
  semget: [64, 190],
};

const checked = { clone: [56, 220], ioctl: [16, 29], socket: [41, 198], socketpair: [53, 199] } as const;
const architectures = { x64: 0xc000_003e, arm64: 0xc000_00b7 } as const;
type Architecture = keyof typeof architectures;

/** The flags of clone that create a namespace. Clone has no flag for time, because the signal uses its bit. */
const namespaceFlags = 0x7e02_0000;
/** Requests that put characters into the input of a terminal. */
const terminalRequests = [0x5412, 0x541c];
/**
 * Unix, IPv4 and IPv6. Vsock is not bound to the network namespace. Other families, such as netlink, are not needed.
 */
const socketFamilies = [1, 2, 10];

/** Error numbers of Linux. */
const notPermitted = 1;
const notImplemented = 38;
const noSuchFamily = 97;

const loadWord = 0x20;
const jumpIfEqual = 0x15;
const jumpIfAtLeast = 0x35;
const jumpIfAnyBit = 0x45;
const give = 0x06;

const allow = 0x7fff_0000;
const killProcess = 0x8000_0000;
const fail = (error: number): number => 0x0005_0000 | error;

const offsetOfNumber = 0;
const offsetOfArchitecture = 4;
const offsetOfArgument = (at: number): number => 16 + 8 * at;

type Instruction = readonly [code: number, value: number, ifTrue?: number, ifFalse?: number];

/** Returns the filter as bytes, or null if there is none for this architecture. */
export function seccompFilter(architecture: string = process.arch): Uint8Array | null {
  if (architecture !== 'x64' && architecture !== 'arm64') return null;
  return toBytes(instructionsFor(architecture));
}

function instructionsFor(architecture: Architecture): readonly Instruction[] {
  const index = architecture === 'x64' ? 0 : 1;
  const failAll = (calls: Readonly<Record<string, Numbers>>, error: number): readonly Instruction[] =>
    Object.values(calls).flatMap((numbers) => {
      const number = numbers[index] ?? null;
      return number === null ? [] : onCall(number, [[give, fail(error)]]);
    });
  return [
    [loadWord, offsetOfArchitecture],
    [jumpIfEqual, architectures[architecture], 1, 0],
    [give, killProcess],
    [loadWord, offsetOfNumber],
    // Refuses the calls of x32, because they have other numbers.
    ...(architecture === 'x64'
      ? ([
          [jumpIfAtLeast, 0x4000_0000, 0, 1],
          [give, fail(notImplemented)],
        ] as const)
      : []),
    ...failAll(refused, notPermitted),
    ...failAll(absent, notImplemented),
    ...onCall(checked.clone[index], [
      [loadWord, offsetOfArgument(0)],
      [jumpIfAnyBit, namespaceFlags, 0, 1],
      [give, fail(notPermitted)],
      [give, allow],
    ]),
    ...onCall(checked.ioctl[index], [
      [loadWord, offsetOfArgument(1)],
      ...terminalRequests.flatMap((request) => onCall(request, [[give, fail(notPermitted)]])),
      [give, allow],
    ]),
    ...[checked.socket[index], checked.socketpair[index]].flatMap((number) =>
      onCall(number, [
        [loadWord, offsetOfArgument(0)],
        ...socketFamilies.flatMap((family) => onCall(family, [[give, allow]])),
        [give, fail(noSuchFamily)],
      ]),
    ),
    [give, allow],
  ];
}

/** Runs the instructions if the loaded value equals the number. */
function onCall(number: number, instructions: readonly Instruction[]): readonly Instruction[] {
  return [[jumpIfEqual, number, 0, instructions.length], ...instructions];
}

function toBytes(instructions: readonly Instruction[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(8 * instructions.length));
  for (const [at, [code, value, ifTrue = 0, ifFalse = 0]] of instructions.entries()) {
    bytes.setUint16(8 * at, code, true);
    bytes.setUint8(8 * at + 2, ifTrue);
    bytes.setUint8(8 * at + 3, ifFalse);
    bytes.setUint32(8 * at + 4, value >>> 0, true);
  }
  return new Uint8Array(bytes.buffer);
}
