// This file is loaded into a run with --import. It makes a write to the run's folder fail as a full disk does, or kills
// the process at the write. The variable CHAOS_WRITES selects the fault as JSON:
// - { "folder", "match", "occurrence", "part", "kind": "kill" } kills the process at that write to a matching file,
//   with this part of its bytes written.
// - { "folder", "afterBytes", "kind": "full" } lets that many bytes through, and fails later writes with "code" (ENOSPC
//   by default).
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';

const plan = JSON.parse(process.env.CHAOS_WRITES ?? '{}');
const matches = new RegExp(plan.match ?? '$^');
const files = new WeakMap();
let seen = 0;
let bytesLeft = plan.afterBytes ?? Number.POSITIVE_INFINITY;

const isOurs = (file) => typeof file === 'string' && path.resolve(file).startsWith(plan.folder);
const { code = 'ENOSPC' } = plan;
const full = (file) => Object.assign(new Error(`${code}: the write failed, write '${file}'`), { code });

/** Returns how many of `size` bytes may be written. All of them may be written, unless this write has to fail. */
function admit(file, size) {
  if (plan.kind === 'full') {
    const admitted = Math.max(0, Math.min(size, bytesLeft));
    bytesLeft -= size;
    return admitted;
  }
  return matches.test(file) && ++seen === plan.occurrence ? Math.floor(size * plan.part) : size;
}

const die = (file) => {
  if (plan.kind === 'full') throw full(file);
  process.kill(process.pid, 'SIGKILL');
};

const toBuffer = (data) =>
  typeof data === 'string' ? Buffer.from(data) : Buffer.from(data.buffer, data.byteOffset, data.byteLength);

/** `append` writes bytes to the end of a file. A write that is stopped writes the allowed part, and fails. */
const { appendFileSync, writeFileSync, writeSync } = fs;
const isData = (data) => typeof data === 'string' || ArrayBuffer.isView(data);

for (const name of ['writeFile', 'appendFile']) {
  const real = fs.promises[name];
  fs.promises[name] = async (file, data, ...rest) => {
    const target = files.get(file) ?? file;
    if (!isOurs(target) || !isData(data)) return real(file, data, ...rest);
    const bytes = toBuffer(data);
    const admitted = admit(target, bytes.length);
    if (admitted === bytes.length && !(plan.kind === 'full' && bytesLeft < 0)) return real(file, data, ...rest);
    (name === 'writeFile' ? writeFileSync : appendFileSync)(target, bytes.subarray(0, admitted));
    return die(target);
  };
}

const realOpen = fs.promises.open;
fs.promises.open = async (file, ...rest) => {
  const handle = await realOpen(file, ...rest);
  if (isOurs(file)) files.set(handle, file);
  return handle;
};
const handle = await realOpen(process.execPath);
const prototype = Object.getPrototypeOf(handle);
await handle.close();
for (const name of ['writeFile', 'write', 'appendFile']) {
  const real = prototype[name];
  prototype[name] = async function write(data, ...rest) {
    const target = files.get(this);
    if (target === undefined || !isData(data)) return real.call(this, data, ...rest);
    const bytes = toBuffer(data);
    const admitted = admit(target, bytes.length);
    if (admitted === bytes.length) return real.call(this, data, ...rest);
    writeSync(this.fd, bytes.subarray(0, admitted));
    return die(target);
  };
}

// A rename or a link counts as one byte: it happens or it does not.
for (const name of ['rename', 'link', 'mkdir']) {
  const real = fs.promises[name];
  fs.promises[name] = async (from, to, ...rest) => {
    const target = name === 'mkdir' ? from : to;
    if (isOurs(target) && admit(target, 1) === 0) die(target);
    return real(from, to, ...rest);
  };
}
syncBuiltinESMExports();
