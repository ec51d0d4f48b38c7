import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { readDocument } from './read-document.js';
import { splitChunks } from './split-chunks.js';

const dir = mkdtempSync(path.join(tmpdir(), 'read-document-'));
const fixtures = path.join(import.meta.dirname, 'fixtures');

function write(name: string, text: string | Uint8Array): string {
  const file = path.join(dir, name);
  writeFileSync(file, text);
  return file;
}

const article = `<html><head><title>Arkona</title><script>track()</script></head><body><nav>Home | About</nav><article><h1>Arkona</h1>
${'<p>The lighthouse of Arkona was built in 1826. Its keeper was called Schilling, and he kept it for many years, in every weather.</p>'.repeat(6)}
</article><footer>Imprint</footer></body></html>`;

it.each([
  ['pdf', path.join(fixtures, 'lighthouse.pdf')],
  ['docx', path.join(fixtures, 'lighthouse.docx')],
  ['html', write('a.html', article)],
  [
    'md',
    write('a.md', '# Arkona\n\nThe lighthouse of Arkona was built in 1826.\r\n\r\nIts keeper was called Schilling.'),
  ],
  ['txt', write('a.txt', '\uFEFFThe lighthouse of Arkona was built in 1826. Its keeper was called Schilling.')],
])('reads the text of %s', async (_, file) => {
  const text = await readDocument(file);
  expect(text).toMatch(/The lighthouse of Arkona was built in 1826\.\s+Its keeper was called Schilling/);
  expect(text).not.toMatch(/track\(\)|Imprint|Home \||\r/);
});

it.each([
  ['a broken PDF', write('b.pdf', 'no pdf at all'), /b\.pdf cannot be read/],
  ['a broken docx', write('b.docx', 'no zip at all'), /b\.docx cannot be read/],
  ['another encoding', write('b.txt', Buffer.from('caf\u00e9', 'latin1')), /b\.txt cannot be read/],
  ['nothing', write('c.md', ' \n'), /c\.md holds no text/],
  ['another kind', write('d.xls', 'x'), /d\.xls is not \.pdf, \.docx/],
])('says what is wrong with %s', async (_, file, message) => {
  await expect(readDocument(file)).rejects.toThrow(message);
});

/** A ZIP archive of one entry that its directory lists many times. */
function createBomb(megabytes: number, times: number): Uint8Array {
  const packed = deflateRawSync(Buffer.alloc(megabytes * 2 ** 20));
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50, 0);
  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(8, 10);
  entry.writeUInt32LE(packed.length, 20);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt32LE(local.length + packed.length, 16);
  return Buffer.concat([local, packed, ...Array.from({ length: times }, () => entry), end]);
}

it('refuses an archive that unpacks to more than a document has, and says less', async () => {
  const file = write('bomb.docx', createBomb(30, 9));
  await expect(readDocument(file)).rejects.toThrow(/bomb\.docx cannot be read: it unpacks to more than/);
});

it('cuts text between sentences, and a sentence only if it is too long', () => {
  const sentences = Array.from(
    { length: 40 },
    (_, at) => `This is sentence number ${at} of a text about lighthouses. `,
  );
  const chunks = splitChunks('a.md', sentences.join(''), 500);
  expect(chunks.map(({ text }) => text).join(' ')).toBe(sentences.join('').trim());
  expect(Math.max(...chunks.map(({ text }) => text.length))).toBeLessThanOrEqual(500);
  for (const { text } of chunks) expect(text).toMatch(/^This is.*lighthouses\.$/);
  const long = splitChunks('a.md', 'word '.repeat(400), 500);
  expect(long.length).toBe(4);
});
