import { parseSync, Visitor, type Argument, type Expression } from 'oxc-parser';

type Text = { readonly type: string; readonly value?: unknown };

function textOf(node: Text | null | undefined): string[] {
  return node?.type === 'Literal' && typeof node.value === 'string' ? [node.value] : [];
}

const isNamed = (node: Expression, name: string): boolean => node.type === 'Identifier' && node.name === name;

/** Matches a program next to this one: `new URL('./worker.js', import.meta.url)`. */
function programOf([first]: readonly Argument[]): string[] {
  return textOf(first).filter((text) => /^\.{1,2}\/.*\.[cm]?[jt]s$/.test(text));
}

/**
 * Returns everything that a source imports, as it is written there: values and types, static and dynamic, and files
 * that it starts by URL.
 */
export function importsOf(file: string, source: string): string[] {
  const { program, errors } = parseSync(file, source);
  const [error] = errors;
  if (error !== undefined) throw new Error(`${file} cannot be parsed: ${error.message}`);
  const found: string[] = [];
  new Visitor({
    ImportDeclaration: (node) => void found.push(...textOf(node.source)),
    ExportNamedDeclaration: (node) => void found.push(...textOf(node.source)),
    ExportAllDeclaration: (node) => void found.push(...textOf(node.source)),
    ImportExpression: (node) => void found.push(...textOf(node.source)),
    TSImportType: (node) => void found.push(...textOf(node.source)),
    TSExternalModuleReference: (node) => void found.push(...textOf(node.expression)),
    CallExpression: (node) => void found.push(...(isNamed(node.callee, 'require') ? textOf(node.arguments[0]) : [])),
    NewExpression: (node) => void found.push(...(isNamed(node.callee, 'URL') ? programOf(node.arguments) : [])),
  }).visit(program);
  return found;
}
