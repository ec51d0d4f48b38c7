/** What LaTeX and typography say in other characters, for the little that answers use of them. */
export function plainText(text: string): string {
  let plain = text.normalize('NFKC').replaceAll(/[−–—]/g, '-').replaceAll(/[“”]/g, '"').replaceAll(/[‘’]/g, "'");
  plain = plain
    .replaceAll(/\\(?:left|right|displaystyle)(?![a-zA-Z])/g, '')
    .replaceAll(/\\[,;:! ]/g, ' ')
    .replaceAll(/\\(?:cdot|times)(?![a-zA-Z])/g, '*')
    .replaceAll(/\\div(?![a-zA-Z])/g, '/')
    .replaceAll(/\\pi(?![a-zA-Z])/g, ' pi ')
    .replaceAll(/\^\s*(?:\{\s*)?\\circ(?:\s*\})?/g, '°')
    .replaceAll(/\\(?:text|mathrm|mathbf|textbf|mbox)\s*(?=\{)/g, '')
    .replaceAll(/\\([$%#&{}])/g, '$1')
    .replaceAll(/\\[()[\]]/g, '');
  return fractionsAndRoots(plain).replaceAll(/\s+/g, ' ').trim();
}

const maxReplacements = 100;

/** `\frac{a}{b}` as `((a)/(b))` and `\sqrt{a}` as `sqrt(a)`, the innermost first. */
function fractionsAndRoots(text: string): string {
  let plain = text.replaceAll(/\\[dt]?frac\s*(\d)\s*(\d)/g, '\\frac{$1}{$2}');
  for (let at = 0; at < maxReplacements; at++) {
    const next = plain
      .replace(/\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}/, '(($1)/($2))')
      .replace(/\\sqrt\s*\{([^{}]*)\}/, 'sqrt($1)')
      .replace(/\^\s*\{([^{}]*)\}/, '^($1)');
    if (next === plain) break;
    plain = next;
  }
  return plain;
}
