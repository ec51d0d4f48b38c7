/**
 * Returns the smallest program of Linux for this architecture: a 64-bit ELF file of one segment that calls exit(0). An
 * image with it needs no files of any distribution.
 */
export function smallestProgram(): Buffer {
  const { machine, code } = architectures[process.arch === 'arm64' ? 'arm64' : 'x64'];
  const headers = Buffer.alloc(headerBytes);
  headers.write('7f454c46020101', 'hex');
  headers.writeUInt16LE(2, 16); // an executable
  headers.writeUInt16LE(machine, 18);
  headers.writeUInt32LE(1, 20);
  headers.writeBigUInt64LE(loadAddress + BigInt(headerBytes), 24); // its first instruction
  headers.writeBigUInt64LE(64n, 32); // where the segment is described
  headers.writeUInt16LE(64, 52);
  headers.writeUInt16LE(56, 54);
  headers.writeUInt16LE(1, 56);
  headers.writeUInt32LE(1, 64); // loaded
  headers.writeUInt32LE(5, 68); // read and executed
  headers.writeBigUInt64LE(loadAddress, 80);
  headers.writeBigUInt64LE(loadAddress, 88);
  headers.writeBigUInt64LE(BigInt(headerBytes + code.length), 96);
  headers.writeBigUInt64LE(BigInt(headerBytes + code.length), 104);
  headers.writeBigUInt64LE(0x1000n, 112);
  return Buffer.concat([headers, code]);
}

const headerBytes = 120;
const loadAddress = 0x400000n;

const architectures = {
  x64: { machine: 62, code: Buffer.from('31ffb83c0000000f05', 'hex') }, // edi = 0, eax = 60, syscall
  arm64: { machine: 183, code: Buffer.from('000080d2a80b80d2010000d4', 'hex') }, // x0 = 0, x8 = 93, svc 0
} as const;
