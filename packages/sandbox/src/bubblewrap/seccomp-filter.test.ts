import { expect, it } from 'vitest';
import { seccompFilter } from './seccomp-filter.js';

const architectures = { x64: 0xc000_003e, arm64: 0xc000_00b7 } as const;
type Call = { readonly number: number; readonly argument?: readonly [number, number] };

/** Runs a filter as the kernel does. Returns its verdict: `allow`, `kill`, or the error number. */
function verdictOf(
  name: keyof typeof architectures,
  { number, argument }: Call,
  machine: number = architectures[name],
) {
  const bytes = seccompFilter(name) ?? new Uint8Array();
  const view = new DataView(bytes.buffer);
  const loads: Record<number, number> = { 0: number, 4: machine };
  if (argument !== undefined) loads[16 + 8 * argument[0]] = argument[1];
  let loaded = 0;
  for (let at = 0; at < bytes.length; ) {
    const [code, value] = [view.getUint16(at, true), view.getUint32(at + 4, true)];
    if (code === 0x06) return value === 0x7fff_0000 ? 'allow' : value === 0x8000_0000 ? 'kill' : value & 0xffff;
    if (code === 0x20) loaded = loads[value] ?? 0;
    const isMet = code === 0x15 ? loaded === value : code === 0x35 ? loaded >= value : (loaded & value) !== 0;
    at += 8 * (1 + (code === 0x20 ? 0 : view.getUint8(at + (isMet ? 2 : 3))));
  }
  return 'past the end';
}

it.each([
  ['x64', { mount: 165, clone: 56, socket: 41, ioctl: 16, read: 0, execve: 59 }],
  ['arm64', { mount: 40, clone: 220, socket: 198, ioctl: 29, read: 63, execve: 221 }],
] as const)('filters the system calls of %s', (name, calls) => {
  const verdict = (number: number, ...argument: [] | [number, number]) =>
    verdictOf(name, argument.length === 0 ? { number } : { number, argument });
  expect([verdict(calls.mount), verdict(425), verdict(435)]).toEqual([1, 38, 38]);
  expect([verdict(calls.read), verdict(calls.execve)]).toEqual(['allow', 'allow']);
  expect([verdict(calls.clone, 0, 0x0100_3f11), verdict(calls.clone, 0, 0x1000_0011)]).toEqual(['allow', 1]);
  expect([1, 2, 10, 16, 40].map((family) => verdict(calls.socket, 0, family))).toEqual([
    'allow',
    'allow',
    'allow',
    97,
    97,
  ]);
  expect([verdict(calls.ioctl, 1, 0x5412), verdict(calls.ioctl, 1, 0x5401)]).toEqual([1, 'allow']);
});

it('ends a program that calls the kernel as another machine would', () => {
  expect(verdictOf('x64', { number: 165 }, 0x4000_0003)).toBe('kill');
  expect(verdictOf('x64', { number: 0x4000_0000 + 165 })).toBe(38);
});

it('has none for an architecture whose numbers it does not know', () => {
  expect(seccompFilter('riscv64')).toBeNull();
});
