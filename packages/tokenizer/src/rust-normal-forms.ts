import { isJsonObject } from '@agentjet/core';

/**
 * Computes normal forms as the Rust library does. Its tables are older than those of Node, so combining characters that
 * were added to Unicode later keep their position. The ranges are the differences between `tokenizers` 0.23.3 and Node
 * 20.20 (Unicode 17) up to U+31FFF.
 */
const newer = (
  '7fd 897-89f 8ca-8d3 9fe c3c d3b-d3c eba 1715 1abf-1add 1ae0-1aeb 1df6-1dfa a82c 10d24-10d27 10d69-10d6d ' +
  '10eab-10eac 10efa-10efb 10efd-10eff 10f46-10f50 10f82-10f85 11070 1133b 113ce-113d0 1145e 11839-1183a ' +
  '1193d-1193e 11943 119e0 11a34 11a47 11a99 11d42 11d44-11d45 11d97 11f41-11f42 1612f 16ff0-16ff1 1e08f ' +
  '1e130-1e136 1e2ae 1e2ec-1e2ef 1e4ec-1e4ef 1e5ee-1e5ef 1e6e3 1e6e6 1e6ee-1e6ef 1e6f5'
)
  .split(' ')
  .map((range) =>
    range
      .split('-')
      .map((code) => `\\u{${code}}`)
      .join('-'),
  )
  .join('');
const newerRuns = new RegExp(`([${newer}]+)`, 'u');

type Form = 'NFC' | 'NFD' | 'NFKC' | 'NFKD';

export function normalizeAsRust(text: string, form: Form): string {
  if (!newerRuns.test(text)) return text.normalize(form);
  return text
    .split(newerRuns)
    .map((part, at) => (at % 2 === 1 ? part : part.normalize(form)))
    .join('');
}

export type Normalizer = {
  normalize?(text: string): string;
  readonly normalizers?: readonly Normalizer[];
};

/** Sets the normal forms of a normalizer; `config` is its section of tokenizer.json. */
export function setNormalForms(normalizer: Normalizer, config: unknown): void {
  if (!isJsonObject(config)) return;
  const { type, normalizers } = config;
  if (type === 'NFC' || type === 'NFD' || type === 'NFKC' || type === 'NFKD')
    normalizer.normalize = (text) => normalizeAsRust(text, type);
  if (type === 'Sequence' && Array.isArray(normalizers))
    normalizer.normalizers?.forEach((step, at) => setNormalForms(step, normalizers[at]));
}
