import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja';
import type { JsonObject } from '@agentjet/core';
import { pythonText, type TemplateValue } from './python-text.js';

/**
 * A Jinja template whose output equals that of Jinja in Python. The library prints JSON instead of Python's spelling
 * (`true` for `True`, nothing for `None`), and refuses filters such as `upper` on lists. Its methods are replaced only
 * on the instance of one rendering, so that other users of the library in this process see no change.
 */
export type PythonTemplate = { render(variables: JsonObject): string };

type Node = { readonly type: string };
type Filter = Node & {
  readonly value?: string;
  readonly callee?: { readonly value?: string };
  readonly args?: readonly unknown[];
};
type BinaryExpression = Node & {
  readonly operator: { readonly value: string };
  readonly left: Node;
  readonly right: Node;
};

/** Methods of the library that its types declare as private. */
type Methods = {
  evaluate(node: Node, environment: Environment): TemplateValue;
  evaluateBlock(statements: readonly Node[], environment: Environment): TemplateValue;
  evaluateBinaryExpression(node: BinaryExpression, environment: Environment): TemplateValue;
  applyFilter(operand: TemplateValue, filter: Filter, environment: Environment): TemplateValue;
};

/** Compiles a template. Throws the parser's SyntaxError. */
export function createPythonTemplate(source: string): PythonTemplate {
  // Jinja reads every line end of a template as \n.
  const lines = source.replaceAll(/\r\n?/g, '\n');
  const program = parse(tokenize(lines, { lstrip_blocks: true, trim_blocks: true }));
  return {
    render(variables) {
      const environment = new Environment();
      for (const [name, value] of Object.entries({ ...globals, ...variables })) environment.set(name, value);
      const interpreter = new Interpreter(environment);
      printAsPython(interpreter as unknown as Methods);
      return String(interpreter.run(program).value);
    },
  };
}

const globals = {
  true: true,
  false: false,
  none: null,
  True: true,
  False: false,
  None: null,
  raise_exception: (message: string): never => {
    throw new Error(message);
  },
  range: (start: number, stop?: number, step = 1): readonly number[] => {
    const [from, to] = stop === undefined ? [0, start] : [start, stop];
    return Array.from({ length: Math.max(0, Math.ceil((to - from) / step)) }, (_, at) => from + at * step);
  },
};

/** Statements that print nothing. The value of any other statement is printed, including None. */
const silent = new Set(['Set', 'Comment', 'Macro']);
/** Filters that convert their input to a string. */
const onStrings = new Set(['upper', 'lower', 'title', 'capitalize', 'trim', 'replace', 'string']);

function printAsPython(methods: Methods): void {
  const { evaluateBinaryExpression, applyFilter } = methods;
  const toString = (text: string): TemplateValue =>
    methods.evaluate({ type: 'StringLiteral', value: text } as Node, new Environment());
  methods.evaluateBlock = (statements, environment) => {
    let text = '';
    for (const statement of statements) {
      const value = methods.evaluate(statement, environment);
      if (!silent.has(statement.type)) text += pythonText(value);
    }
    return toString(text);
  };
  methods.evaluateBinaryExpression = (node, environment) => {
    if (node.operator.value !== '~') return evaluateBinaryExpression.call(methods, node, environment);
    const [left, right] = [node.left, node.right].map((side) => methods.evaluate(side, environment));
    return toString(`${left === undefined ? '' : pythonText(left)}${right === undefined ? '' : pythonText(right)}`);
  };
  methods.applyFilter = (operand, filter, environment) => {
    const name = filter.value ?? filter.callee?.value ?? '';
    if (name === 'capitalize') return toString(capitalized(pythonText(operand)));
    const isString = operand.type === 'StringValue';
    if (!isString && onStrings.has(name))
      return applyFilter.call(methods, toString(pythonText(operand)), filter, environment);
    const given = name === 'join' ? withStrings(operand, toString) : operand;
    return applyFilter.call(methods, given, filter, environment);
  };
}

/**
 * Implements the filter `capitalize`. The library's filter does not change the case of the letters after the first one.
 */
function capitalized(text: string): string {
  const [first = '', ...rest] = text;
  return `${first.toUpperCase()}${rest.join('').toLowerCase()}`;
}

/**
 * Converts the members of a list to strings, which `join` concatenates. A list of only strings and objects is not
 * changed, because `join` may need an attribute of the objects.
 */
function withStrings(operand: TemplateValue, toString: (text: string) => TemplateValue): TemplateValue {
  if (operand.type !== 'ArrayValue' && operand.type !== 'TupleValue') return operand;
  const members = operand.value as readonly TemplateValue[];
  if (members.every(({ type }) => type === 'StringValue' || type === 'ObjectValue')) return operand;
  const List = operand.constructor as new (members: readonly TemplateValue[]) => TemplateValue;
  return new List(members.map((member) => toString(pythonText(member))));
}
