import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { deflateRawSync, deflateSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { readDocument } from './read-document.js';

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
  ['nothing', write('c.md', ' \n'), /c\.md contains no text/],
  ['another kind', write('d.xls', 'x'), /d\.xls is not \.pdf, \.docx/],
])('says what is wrong with %s', async (_, file, message) => {
  await expect(readDocument(file)).rejects.toThrow(message);
});

/** Makes a ZIP archive of one entry that its directory lists many times. */
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

it('refuses an archive that unpacks to more than a document may have but declares less', async () => {
  const file = write('bomb.docx', createBomb(30, 9));
  await expect(readDocument(file)).rejects.toThrow(/bomb\.docx cannot be read: it unpacks to more than/);
});

const limits = { seconds: 60, megabytes: 2048 };

/** `objects[0]` is object 1, the catalog. */
function createPdf(
  ...objects: readonly (string | { readonly dictionary: string; readonly stream: Uint8Array })[]
): Buffer {
  const parts: Buffer[] = [Buffer.from('%PDF-1.4\n')];
  const places: number[] = [];
  const add = (text: string | Uint8Array): void => void parts.push(Buffer.from(text as Uint8Array));
  for (const [at, object] of objects.entries()) {
    places.push(Buffer.concat(parts).length);
    add(`${at + 1} 0 obj\n`);
    if (typeof object === 'string') add(object);
    else {
      add(`<< ${object.dictionary} /Length ${object.stream.length} >>\nstream\n`);
      add(object.stream);
      add('\nendstream');
    }
    add('\nendobj\n');
  }
  const start = Buffer.concat(parts).length;
  const rows = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('');
  add(`xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}`);
  add(`trailer << /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`);
  return Buffer.concat(parts);
}

const catalog = '<< /Type /Catalog /Pages 2 0 R >>';
const pages = '<< /Type /Pages /Kids [3 0 R] /Count 1 >>';
const font = '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>';
const page =
  '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> /XObject << /X 6 0 R >> >> >>';
const flate = (layers: number): string => `/Filter [${'/FlateDecode '.repeat(layers)}]`;
const packed = (bytes: Uint8Array, layers = 1, dictionary = '') => {
  let stream = bytes;
  for (let layer = 0; layer < layers; layer++) stream = deflateSync(stream);
  return { dictionary: `${flate(layers)} ${dictionary}`, stream };
};
const says = (text: string): Buffer => Buffer.from(`BT /F 9 Tf (${text}) Tj ET`);

it('reads packed pages, also next to a large picture', async () => {
  const picture = packed(Buffer.alloc(140 * 2 ** 20), 1, '/Type /XObject /Subtype /Image /Width 1 /Height 1');
  const file = write('p.pdf', createPdf(catalog, pages, page, packed(says('Arkona')), font, picture, picture));
  expect(await readDocument(file)).toBe('Arkona');
});

const forms = (depth: number) =>
  Array.from({ length: depth }, (_, at) => ({
    dictionary: `/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X ${at + 7} 0 R >> /Font << /F 5 0 R >> >>`,
    stream: Buffer.from(at === depth - 1 ? says('a') : '/X Do '.repeat(20)),
  }));

it.each([
  [
    '20,000 pages, which are one',
    createPdf(
      catalog,
      `<< /Type /Pages /Kids [${'3 0 R '.repeat(20_000)}] /Count 20000 >>`,
      page,
      packed(says('a')),
      font,
    ),
    /it has 20000 pages; a document may have 10000/,
  ],
  [
    'a stream that unpacks to much',
    createPdf(catalog, pages, page, packed(Buffer.alloc(300 * 2 ** 20))),
    /it unpacks to more than 268435456 bytes/,
  ],
  [
    'many such streams',
    createPdf(catalog, pages, page, ...Array.from({ length: 9 }, () => packed(Buffer.alloc(30 * 2 ** 20)))),
    /it unpacks to more than/,
  ],
  [
    'a stream that was packed three times',
    createPdf(catalog, pages, page, packed(Buffer.alloc(300 * 2 ** 20), 3)),
    /it unpacks to more than/,
  ],
  [
    'a picture that unpacks to much',
    createPdf(catalog, pages, page, packed(Buffer.alloc(300 * 2 ** 20), 1, '/Subtype /Image')),
    /it unpacks to more than/,
  ],
  [
    'a tree of objects without end',
    createPdf(catalog, pages, `<< /Type /Page /Parent 2 0 R /Contents ${'['.repeat(2e6)} >>`),
    /cannot be read/,
  ],
])('refuses a PDF with %s', async (name, bytes, message) => {
  const file = write(`${name.replaceAll(' ', '-')}.pdf`, bytes);
  await expect(readDocument(file, limits)).rejects.toThrow(message);
});

it('ends a PDF that takes too long, and reads the next one', async () => {
  const laughs = createPdf(catalog, pages, page, packed(Buffer.from('/X Do '.repeat(20))), font, ...forms(9));
  const file = write('laughs.pdf', laughs);
  await expect(readDocument(file, { ...limits, seconds: 3 })).rejects.toThrow('it takes more than 3 s to read');
  expect(await readDocument(path.join(fixtures, 'lighthouse.pdf'), limits)).toContain('Arkona');
});

it('ends a document that takes too much memory', async () => {
  const file = write('wide.html', `<p>${'<b>a</b>'.repeat(2e6)}</p>`);
  await expect(readDocument(file, { ...limits, megabytes: 100 })).rejects.toThrow(
    'it takes more than 100 MB of memory',
  );
});

it('reads a page of elements in one another, without a time that grows faster than the page', async () => {
  const nested = (depth: number): string =>
    `<body><script>track()</script>${'<div>'.repeat(depth)}The lighthouse of Arkona${'</div>'.repeat(depth)}</body>`;
  for (const depth of [3, 99, 1000, 20_000])
    expect(await readDocument(write('deep.html', nested(depth)), { ...limits, seconds: 20 })).toBe(
      'The lighthouse of Arkona',
    );
});
