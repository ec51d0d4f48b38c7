import type { Leaves } from '@agentjet/sandbox/boxes';

/**
 * Returns whether patterns leave out a path, as `tar --exclude` reads them: a pattern may begin at any part of the path,
 * `*` also matches `/`, and a folder takes everything below with it.
 */
export function excludedBy(patterns: readonly string[]): Leaves {
  const expressions = patterns.map((pattern) => new RegExp(`^${toExpression(pattern.replace(/\/$/, ''))}$`, 's'));
  return (relative) => {
    const parts = `./${relative}`.split('/').filter((part) => part !== '');
    return parts.some((_, first) =>
      parts.some((__, last) => {
        const part = last < first ? undefined : parts.slice(first, last + 1).join('/');
        return part !== undefined && expressions.some((expression) => expression.test(part));
      }),
    );
  };
}

function toExpression(pattern: string): string {
  return pattern.replace(/\[[^\]]*\]|[\s\S]/g, (piece) => {
    if (piece === '*') return '.*';
    if (piece === '?') return '.';
    if (piece.length > 1) return piece.replace(/^\[!/, '[^').replaceAll('\\', '\\\\');
    return piece.replace(/[.+^${}()|[\]\\]/g, '\\$&');
  });
}
