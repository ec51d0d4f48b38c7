/**
 * Elementwise rules with broadcasting, and their gradients. A tie in `minimum` or `maximum` belongs to the first
 * operand.
 */

import { sumToShape } from './reduce.js';
import { broadcastShapes } from './value.js';
import type { Operand, Value } from './value.js';

type Partial = (outputGradient: Value, output: Value) => Value;

export function add(left: Operand, right: Operand): Value {
  return binary('Add', left, right, () => [(gradient) => gradient, (gradient) => gradient]);
}

export function subtract(left: Operand, right: Operand): Value {
  return binary('Sub', left, right, () => [(gradient) => gradient, (gradient) => negate(gradient)]);
}

export function multiply(left: Operand, right: Operand): Value {
  return binary('Mul', left, right, (a, b) => [
    (gradient) => multiply(gradient, b),
    (gradient) => multiply(gradient, a),
  ]);
}

export function divide(left: Operand, right: Operand): Value {
  return binary('Div', left, right, (_, b) => [
    (gradient) => divide(gradient, b),
    (gradient, output) => negate(divide(multiply(gradient, output), b)),
  ]);
}

export function minimum(left: Operand, right: Operand): Value {
  return binary('Min', left, right, (a, b) => selected(() => compare('LessOrEqual', a, b)));
}

export function maximum(left: Operand, right: Operand): Value {
  return binary('Max', left, right, (a, b) => selected(() => compare('GreaterOrEqual', a, b)));
}

export function negate(value: Value): Value {
  return unary('Neg', value, (gradient) => negate(gradient));
}

export function exponential(value: Value): Value {
  return unary('Exp', value, (gradient, output) => multiply(gradient, output));
}

export function squareRoot(value: Value): Value {
  return unary('Sqrt', value, (gradient, output) => divide(gradient, multiply(output, 2)));
}

export function reciprocal(value: Value): Value {
  return unary('Reciprocal', value, (gradient, output) => negate(multiply(gradient, square(output))));
}

export function sigmoid(value: Value): Value {
  return unary('Sigmoid', value, (gradient, output) => multiply(gradient, multiply(output, subtract(1, output))));
}

/** Has no gradient. */
export function absolute(value: Value): Value {
  return value.graph.node('Abs', [value], value);
}

export function square(value: Value): Value {
  return multiply(value, value);
}

/** Returns x * sigmoid(x). */
export function silu(value: Value): Value {
  const { graph } = value;
  const output = graph.isFused
    ? graph.node('QuickGelu', [value], value, { attributes: { alpha: { float: 1 } }, isContrib: true })
    : graph.node('Mul', [value, graph.node('Sigmoid', [value], value)], value);
  const gradientOf = (gradient: Value): Value => {
    const gate = sigmoid(value);
    return multiply(gradient, add(gate, multiply(output, subtract(1, gate))));
  };
  return graph.differentiable(output, [{ of: value, gradient: gradientOf }]);
}

/** Returns a boolean tensor; it has no gradient. */
export function compare(
  operator: 'Less' | 'LessOrEqual' | 'Greater' | 'GreaterOrEqual' | 'Equal',
  left: Value,
  right: Value,
): Value {
  return left.graph.node(operator, [left, right], { shape: broadcastShapes(left.shape, right.shape), type: 'bool' });
}

/** Converts to the graph's float type, without a gradient. True becomes 1, and false 0. */
export function toFloat(value: Value): Value {
  const { graph, shape } = value;
  const to = graph.floatType === 'float32' ? 1 : 11;
  return graph.node('Cast', [value], { shape }, { attributes: { to } });
}

function selected(isLeft: () => Value): readonly [Partial, Partial] {
  return [
    (gradient) => multiply(gradient, toFloat(isLeft())),
    (gradient) => multiply(gradient, subtract(1, toFloat(isLeft()))),
  ];
}

function unary(operator: string, value: Value, partial: Partial): Value {
  const { graph } = value;
  const output = graph.node(operator, [value], value);
  return graph.differentiable(output, [{ of: value, gradient: (gradient) => partial(gradient, output) }]);
}

function binary(
  operator: string,
  left: Operand,
  right: Operand,
  partialsOf: (left: Value, right: Value) => readonly [Partial, Partial],
): Value {
  const graph = graphOf(left, right);
  const [a, b] = [graph.operand(left), graph.operand(right)];
  const output = graph.node(operator, [a, b], { shape: broadcastShapes(a.shape, b.shape) });
  const [ofLeft, ofRight] = partialsOf(a, b);
  return graph.differentiable(output, [
    { of: a, gradient: (gradient) => sumToShape(ofLeft(gradient, output), a.shape) },
    { of: b, gradient: (gradient) => sumToShape(ofRight(gradient, output), b.shape) },
  ]);
}

function graphOf(left: Operand, right: Operand): Value['graph'] {
  if (typeof left !== 'number') return left.graph;
  if (typeof right !== 'number') return right.graph;
  throw new Error('One operand must be a value of a graph.');
}
