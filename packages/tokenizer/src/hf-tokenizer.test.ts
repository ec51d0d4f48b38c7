import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createChatTokenizer } from './index.js';
import { createHfTokenizer } from './hf-tokenizer.js';
import { createChatTokenizerFiles } from './testing.js';

const { tokenizer } = createChatTokenizer(createChatTokenizerFiles('chatml'));

/** A vocabulary of whole pieces, with bytes for other text, as in SentencePiece models. */
const pieces = [
  '<unk>',
  '<s>',
  ...Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`),
  '▁',
  '▁a',
  'b',
  'c',
  '▁bc',
  'é',
];
const sentencePiece = createHfTokenizer(
  {
    added_tokens: [{ id: 1, content: '<s>', special: true }],
    normalizer: {
      type: 'Sequence',
      normalizers: [
        { type: 'Prepend', prepend: '▁' },
        { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
      ],
    },
    pre_tokenizer: null,
    post_processor: null,
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        { type: 'Strip', content: ' ', start: 1, stop: 0 },
      ],
    },
    model: {
      type: 'BPE',
      byte_fallback: true,
      unk_token: '<unk>',
      fuse_unk: true,
      vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])),
      merges: [
        ['▁', 'a'],
        ['▁b', 'c'],
      ],
    },
  },
  {},
);

/** Text with every difficulty: emoji of several code units, combining marks, a byte order mark, special tokens. */
const hardText = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        '<|im_end|>',
        '<|im_start|>',
        '\uFEFF',
        '👩‍👩‍👧',
        'e\u0301',
        ' the',
        'hello',
        '\r\n',
        '  ',
        '\u0085',
        '123',
      ),
    ),
  )
  .map((parts) => parts.join('').normalize('NFC'));

describe('a byte-level tokenizer', () => {
  test('gives any text back', () => {
    fc.assert(
      fc.property(hardText, (text) => {
        expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
      }),
    );
  });

  test('streams exactly what it decodes for any ids, and never half a character', () => {
    const anyIds = fc.array(fc.integer({ min: 0, max: tokenizer.vocabSize - 1 }));
    fc.assert(
      fc.property(anyIds, (ids) => {
        const decoder = tokenizer.createStreamDecoder();
        const pushed = ids.map((id) => decoder.push(id));
        for (const piece of pushed) expect(piece).not.toMatch(/\p{Surrogate}/u);
        expect(pushed.join('') + decoder.flush()).toBe(tokenizer.decode(ids));
      }),
    );
  });

  test('decodes whole characters at once, each token at its place in the stream', () => {
    const anyIds = fc.oneof(
      hardText.map((text) => tokenizer.encode(text)),
      fc.array(fc.integer({ min: -1, max: tokenizer.vocabSize })).map((ids) => Int32Array.from(ids)),
    );
    let numQuick = 0;
    fc.assert(
      fc.property(anyIds, (ids) => {
        const quick = tokenizer.decodeEach?.(ids);
        expect(tokenizer.textEnds?.(ids)).toEqual(quick?.ends);
        if (quick === undefined) return;
        numQuick++;
        const decoder = tokenizer.createStreamDecoder();
        let text = '';
        const ends = Array.from(ids, (id) => (text += decoder.push(id)).length);
        expect([quick.text, [...Int32Array.from(quick.ends)]]).toEqual([text + decoder.flush(), ends]);
      }),
    );
    expect(numQuick).toBeGreaterThan(10);
    expect(tokenizer.decodeEach?.(tokenizer.encode('a😀b').slice(0, 2))).toBeUndefined(); // half a character
  });

  test('holds an emoji back until its last byte', () => {
    const ids = [...tokenizer.encode('a😀b')];
    const decoder = tokenizer.createStreamDecoder();
    expect(ids.map((id) => decoder.push(id))).toEqual(['a', '', '', '', '😀', 'b']);
  });

  test('a cut character comes out as U+FFFD at the end', () => {
    const [first] = tokenizer.encode('é');
    const decoder = tokenizer.createStreamDecoder();
    const halfBytes = tokenizer.encode('😀').slice(0, 2);
    expect([...halfBytes].map((id) => decoder.push(id)).join('') + decoder.flush()).toBe('\uFFFD');
    expect(first).toBeDefined();
  });

  test('finds special tokens in text, and keeps them as text', () => {
    const end = tokenizer.idOf('<|im_end|>');
    expect([...tokenizer.encode('a<|im_end|>')].at(-1)).toBe(end);
    expect(tokenizer.decode([end ?? -1])).toBe('<|im_end|>');
    expect(tokenizer.idOf('no such token')).toBeUndefined();
  });

  test('returns a lower bound of the number of tokens of a string', () => {
    fc.assert(
      fc.property(hardText, fc.nat(300), (text, times) => {
        const long = text.normalize('NFD').repeat(times);
        expect(tokenizer.countAtLeast?.(long)).toBeLessThanOrEqual(tokenizer.encode(long).length);
      }),
    );
    expect(tokenizer.countAtLeast?.(' '.repeat(1_000_000))).toBeGreaterThan(50_000);
  });

  test('with a missing byte has no such bound, since texts lose that byte', () => {
    const { tokenizerJson, tokenizerConfig } = createChatTokenizerFiles('qwen3');
    const model = tokenizerJson['model'] as { readonly vocab: Readonly<Record<string, number>> };
    const { x: _lost, ...vocab } = model.vocab;
    const lossy = createHfTokenizer({ ...tokenizerJson, model: { ...model, vocab } }, tokenizerConfig);
    expect([lossy.encode('xxx').length, lossy.countAtLeast]).toEqual([0, undefined]);
  });

  test('an id beyond the vocabulary has no text', () => {
    expect(tokenizer.decode([tokenizer.vocabSize + 5])).toBe('');
  });

  test('may have a vocabulary as large as real models have', () => {
    const { tokenizerJson, tokenizerConfig } = createChatTokenizerFiles('qwen3');
    const model = tokenizerJson['model'] as { readonly vocab: Readonly<Record<string, number>> };
    const more = Object.fromEntries(Array.from({ length: 150_000 }, (_, at) => [`zz${at}`, 1000 + at]));
    const large = createHfTokenizer(
      { ...tokenizerJson, model: { ...model, vocab: { ...model.vocab, ...more } } },
      tokenizerConfig,
    );
    expect(large.vocabSize).toBe(151_000);
    expect(large.decode(large.encode('hello the'))).toBe('hello the');
  });

  test('nothing is nothing', () => {
    expect(tokenizer.encode('')).toHaveLength(0);
    expect(tokenizer.decode([])).toBe('');
    expect(tokenizer.createStreamDecoder().flush()).toBe('');
  });
});

describe('a special token with a mark inside', () => {
  const mark = 'qMARKq';

  test('is plain text, and all marks are taken out', () => {
    const ids = tokenizer.encodeMarked?.(`<|im_start|>a<${mark}|im_start|>${mark}b`, mark) ?? [];
    expect(tokenizer.decode(ids)).toBe('<|im_start|>a<|im_start|>b');
    expect([...ids].filter((id) => id === tokenizer.idOf('<|im_start|>'))).toHaveLength(1);
    expect(tokenizer.specialTokens).toEqual(['<|endoftext|>', '<|im_start|>', '<|im_end|>']);
  });

  test('is plain text for a tokenizer of pieces too', () => {
    const ids = sentencePiece.encodeMarked?.(`<s>a <${mark}s>`, mark) ?? [];
    expect([...ids].filter((id) => id === sentencePiece.idOf('<s>'))).toHaveLength(1);
    expect(sentencePiece.decode(ids)).toContain('a <s>');
  });
});

describe('a tokenizer of pieces', () => {
  test('streams exactly what it decodes', () => {
    fc.assert(
      fc.property(hardText, (text) => {
        const ids = sentencePiece.encode(text);
        const decoder = sentencePiece.createStreamDecoder();
        expect([...ids].map((id) => decoder.push(id)).join('') + decoder.flush()).toBe(sentencePiece.decode(ids));
      }),
    );
  });

  test('keeps the space between words', () => {
    const decoder = sentencePiece.createStreamDecoder();
    const texts = [...sentencePiece.encode('a bc 😀')].map((id) => decoder.push(id));
    expect(texts.join('')).toBe('a bc 😀');
  });
});
