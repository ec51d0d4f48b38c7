/** Writes the files as a tar: each has a header of 512 bytes, and its content is padded to a multiple of 512. */
export function writeTar(files: readonly (readonly [name: string, content: Buffer])[]): Buffer {
  const parts = files.flatMap(([name, content]) => [
    header(name, content.length),
    content,
    Buffer.alloc((512 - (content.length % 512)) % 512),
  ]);
  return Buffer.concat([...parts, Buffer.alloc(1024)]);
}

function header(name: string, size: number): Buffer {
  const block = Buffer.alloc(512);
  block.write(name, 0);
  block.write('0000644\0', 100);
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  block.write(' '.repeat(8) + '0', 148); // the checksum counts its own field as blanks; the file type follows it
  block.write('ustar\x0000', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}
