import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readPath, readPathWith, TokenTree, type TokenPosition } from './token-tree.js';

/** Few ids are used, so that paths share a lot. A step continues from an earlier position, at its end or before it. */
const steps = fc.array(
  fc.record({
    from: fc.nat(20),
    depth: fc.nat(60),
    ids: fc.array(fc.nat(1), { maxLength: 9 }),
    isPeeked: fc.boolean(),
  }),
  { maxLength: 40 },
);

test('positions keep their paths, and equal prefixes are found, after any insertions', () => {
  const property = fc.property(steps, (list) => {
    const tree = new TokenTree();
    const known: { readonly position: TokenPosition; readonly path: readonly number[] }[] = [
      { position: tree.root, path: [] },
    ];
    const prompts: { readonly view: Int32Array; readonly path: readonly number[] }[] = [];
    for (const { from, depth, ids, isPeeked } of list) {
      const start = known[from % known.length] ?? { position: tree.root, path: [] };
      const cut = Math.min(depth, start.path.length);
      const position = { segment: start.position.segment, depth: cut };
      const path = [...start.path.slice(0, cut), ...ids];
      if (isPeeked) prompts.push({ view: readPathWith(position, Int32Array.from(ids)), path });
      const expected = Math.max(...known.map((other) => commonLength(other.path, path)));
      expect(cut + tree.match(position, Int32Array.from(ids))).toBe(Math.max(cut, expected));
      if (!isPeeked || ids.length % 2 === 0)
        known.push({ position: tree.insert(position, Int32Array.from(ids)), path });
      expect(known.map((other) => readPath(other.position).join())).toEqual(known.map((other) => other.path.join()));
      expect(prompts.map(({ view }) => view.join())).toEqual(prompts.map((prompt) => prompt.path.join()));
    }
  });
  fc.assert(property, { numRuns: 300 });
});

function commonLength(left: readonly number[], right: readonly number[]): number {
  const at = left.findIndex((id, index) => id !== right[index]);
  return at === -1 ? left.length : at;
}
