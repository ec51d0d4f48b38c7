import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';

type Description = { readonly [key: string]: unknown };

/** Describes this machine for a kept result. */
export function describeMachine(): Description {
  return {
    cpu: cpus()[0]?.model.trim(),
    ...describeVectors(),
    cores: availableParallelism(),
    ...(cpus().length > availableParallelism() && { cores_of_machine: cpus().length }),
    memory_gib: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
  };
}

/** The vector instructions on which the speed of ONNX Runtime depends. Processors with equal names can differ in them. */
const vectors = ['avx2', 'avx512f', 'avx512_vnni', 'avx_vnni', 'amx_int8'];

function describeVectors(): { readonly vectors?: readonly string[] } {
  try {
    const [, flags = ''] = /^flags\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8')) ?? [];
    const own = new Set(flags.split(' '));
    return { vectors: vectors.filter((name) => own.has(name)) };
  } catch {
    return {}; // the system does not say it
  }
}

/** Returns whether ratios between different kinds of work can be compared, because the processors are the same. */
export const isSameProcessor = (left: Description, right: Description): boolean =>
  JSON.stringify([left['cpu'], left['vectors']]) === JSON.stringify([right['cpu'], right['vectors']]);
