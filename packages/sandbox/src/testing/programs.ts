import type { RunnerPrograms } from './runner-cases.js';

/**
 * Programs that try to escape. They print ESCAPED if they reach something outside. One of their targets is `SECRET` in
 * the environment of this process.
 */

const javascriptEscapes = [
  'if (typeof process !== "undefined") print("ESCAPED")',
  'if (typeof require !== "undefined") print("ESCAPED")',
  'if (typeof fetch !== "undefined" || typeof XMLHttpRequest !== "undefined") print("ESCAPED")',
  'if (typeof __write !== "undefined") print("ESCAPED")',
  'print(console.log.constructor("return typeof process")() === "object" ? "ESCAPED" : "no")',
  'print((() => {}).constructor.constructor("return globalThis.process")() ? "ESCAPED" : "no")',
  'print([].constructor.constructor("return this")().process ? "ESCAPED" : "no")',
  'import("node:fs").then(() => print("ESCAPED"), () => print("no"))',
  'import("fs").then((fs) => print("ESCAPED" + fs), () => print("no"))',
  'try { std.open("/etc/passwd", "r"); print("ESCAPED") } catch { print("no") }',
  'try { os.exec(["true"]); print("ESCAPED") } catch { print("no") }',
  'print(new Error().stack.includes("node:internal") ? "ESCAPED" : "no")',
  'try { null.x } catch (error) { print(error.constructor.constructor("return typeof process")() === "object" ? "ESCAPED" : "no") }',
  'Promise.resolve().then(() => print(typeof process === "object" ? "ESCAPED" : "no"))',
  'const p = new Proxy({}, { get() { return typeof process === "object" ? print("ESCAPED") : 1 } }); p',
  'globalThis.toJSON = () => { throw new Error("x") }; ({ toJSON() { return typeof process } }).toJSON() === "object" && print("ESCAPED")',
  'try { WebAssembly.compile; print("ESCAPED") } catch { print("no") }',
  'try { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0) } catch {} print("no")',
  '/(a+)+$/.test("a".repeat(50) + "b"); print("no")',
  'Object.prototype.polluted = "ESCAPED"; print("no")',
];

/** Escapes that are tried in every Python sandbox. */
const pythonEscapes = [
  'import os; print("ESCAPED" if "SECRET" in os.environ else "no")',
  'import socket\ntry:\n  socket.create_connection(("127.0.0.1", 22), 1); print("ESCAPED")\nexcept OSError: print("no")',
  'import socket\ntry:\n  socket.getaddrinfo("example.com", 80); print("ESCAPED")\nexcept OSError: print("no")',
  'import urllib.request\ntry:\n  urllib.request.urlopen("http://169.254.169.254/", timeout=1); print("ESCAPED")\nexcept Exception: print("no")',
  'try:\n  open("/usr/bin/ajet-was-here", "w"); print("ESCAPED")\nexcept OSError: print("no")',
  'import os\nprint("ESCAPED" if len([p for p in os.listdir("/proc") if p.isdigit()]) > 4 else "no")',
  'import os, signal\ntry:\n  os.kill(int(open("/proc/self/status").read().split("PPid:")[1].split()[0]), 0); os.kill(99999, 9); print("ESCAPED")\nexcept OSError: print("no")',
  'import os\ntry:\n  os.setuid(0); os.chroot("/"); print("ESCAPED")\nexcept (OSError, PermissionError): print("no")',
  'import ctypes\nlibc = ctypes.CDLL(None)\nprint("ESCAPED" if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0 else "no")',
  'import os\nfor name in ("/dev/sda", "/dev/vda", "/dev/mem", "/dev/kmsg", "/dev/nvidia0", "/var/run/docker.sock", "/run/docker.sock"):\n  print("ESCAPED" if os.path.exists(name) else "no")',
  'with open("big", "wb") as f:\n  try:\n    f.write(b"x" * (80 * 1024 * 1024)); f.flush(); print("ESCAPED")\n  except (OSError, MemoryError): print("no")',
  'import subprocess\nprint("ESCAPED" if subprocess.run(["/usr/bin/env"], capture_output=True, text=True).stdout.count("SECRET") else "no")',
  'print("ESCAPED" if open("/proc/1/cmdline").read().count("node") else "no")',
];

/** Attempts to read files of the machine. */
const pythonReads = [
  'try:\n  open("/etc/passwd").read(); print("ESCAPED")\nexcept OSError: print("no")',
  'try:\n  open("/root/.bashrc").read(); print("ESCAPED")\nexcept OSError: print("no")',
  'import os\nprint("ESCAPED" if os.path.exists("/home") or os.path.exists("/root") or os.path.exists("/etc/hostname") else "no")',
];

export const javascriptPrograms: RunnerPrograms = {
  language: 'javascript',
  prints: (text) => `console.log(${JSON.stringify(text)})`,
  fails: (message) => `throw new TypeError(${JSON.stringify(message)})`,
  loops: 'for (;;) {}',
  takesMemory: 'const all = []; for (;;) all.push(new ArrayBuffer(1e7))',
  printsForever: 'for (;;) print("x".repeat(100))',
  printsFile: 'print(files["data/in.txt"])',
  printsInput: 'print(stdin)',
  leavesTrace: 'print(globalThis.trace ?? "clean"); globalThis.trace = 1; Array.prototype.trace = 1',
  asks: '(line) => `!${ask("ping")}`',
  answers: '(line) => `${line} pong`',
  claims: '(line) => "!paid"',
  escapes: javascriptEscapes,
};

export const pythonPrograms: RunnerPrograms = {
  language: 'python',
  prints: (text) => `print(${JSON.stringify(text)})`,
  fails: (message) => `raise TypeError(${JSON.stringify(message)})`,
  loops: 'while True: pass',
  takesMemory: 'all = []\nwhile True: all.append(bytearray(10_000_000))',
  printsForever: 'while True: print("x" * 100)',
  printsFile: 'print(open("data/in.txt").read())',
  printsInput: 'print(input())',
  leavesTrace:
    'import os\nleft = [f for d in ("/work", "/tmp") for f in os.listdir(d) if f.startswith("trace")]\nprint(left or "clean")\nfor d in ("/work", "/tmp"): open(d + "/trace", "w").write("x")',
  asks: 'print("ping")\nprint("!" + input())',
  answers: 'print(input() + " pong")\ninput()',
  claims: 'input()\nprint("!paid")\ninput()',
  escapes: [...pythonEscapes, ...pythonReads],
};

/** Programs for Python in a container. They do not try to read files of the machine, because a container has its own files. */
export const containerPrograms: RunnerPrograms = { ...pythonPrograms, escapes: pythonEscapes };
