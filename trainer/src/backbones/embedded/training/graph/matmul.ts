/** Matrix products and their gradients. */

import { transpose } from './reshape.js';
import { multiply } from './elementwise.js';
import { sumToShape } from './reduce.js';
import { broadcastShapes, dimAt } from './value.js';
import type { Attributes } from './encode-model.js';
import type { Dim, Shape, Value } from './value.js';

type ProductOptions = { readonly transposeLeft?: boolean; readonly transposeRight?: boolean; readonly scale?: number };

/** scale * op(left) op(right) + bias, for matrices. The bias broadcasts to the product. */
export function gemm(left: Value, right: Value, options: ProductOptions & { readonly bias?: Value } = {}): Value {
  const { transposeLeft = false, transposeRight = false, scale = 1, bias } = options;
  const { graph } = left;
  const shape = productShape(left, right, { transposeLeft, transposeRight });
  const inputs = bias === undefined ? [left, right] : [left, right, bias];
  const output = graph.node(
    'Gemm',
    inputs,
    { shape },
    { attributes: gemmAttributes({ transposeLeft, transposeRight, scale }) },
  );
  const pullbacks = productPullbacks(gemm, { left, right, transposeLeft, transposeRight, scale });
  if (bias === undefined) return graph.differentiable(output, pullbacks);
  return graph.differentiable(output, [
    ...pullbacks,
    { of: bias, gradient: (gradient) => sumToShape(gradient, bias.shape) },
  ]);
}

/** scale * op(left) op(right) over the last two axes; the leading axes broadcast. */
export function matmul(left: Value, right: Value, options: ProductOptions = {}): Value {
  const { transposeLeft = false, transposeRight = false, scale = 1 } = options;
  const { graph } = left;
  const settings = { transposeLeft, transposeRight, scale };
  const output = graph.withoutGradient(() => productNode(left, right, settings));
  return graph.differentiable(output, productPullbacks(matmul, { left, right, ...settings }));
}

type Product = { readonly left: Value; readonly right: Value } & Required<ProductOptions>;

/**
 * Returns the gradient of op(A) op(B) with respect to one factor: a product of the gradient of the result and the other
 * factor, which is transposed if it was not transposed before.
 */
function productPullbacks(product: typeof matmul, { left, right, transposeLeft, transposeRight, scale }: Product) {
  const ofLeft = (gradient: Value): Value =>
    transposeLeft
      ? product(right, gradient, { transposeLeft: transposeRight, transposeRight: true, scale })
      : product(gradient, right, { transposeRight: !transposeRight, scale });
  const ofRight = (gradient: Value): Value =>
    transposeRight
      ? product(gradient, left, { transposeLeft: true, transposeRight: transposeLeft, scale })
      : product(left, gradient, { transposeLeft: !transposeLeft, scale });
  return [
    { of: left, gradient: (gradient: Value) => sumToShape(ofLeft(gradient), left.shape) },
    { of: right, gradient: (gradient: Value) => sumToShape(ofRight(gradient), right.shape) },
  ];
}

function productNode(left: Value, right: Value, settings: Required<ProductOptions>): Value {
  const { graph } = left;
  const shape = productShape(left, right, settings);
  const isPlain = !settings.transposeLeft && !settings.transposeRight && settings.scale === 1;
  if (graph.isFused && !isPlain) {
    return graph.node(
      'FusedMatMul',
      [left, right],
      { shape },
      { attributes: gemmAttributes(settings), isContrib: true },
    );
  }
  const operands = [settings.transposeLeft ? swapLast(left) : left, settings.transposeRight ? swapLast(right) : right];
  const output = graph.node('MatMul', operands, { shape });
  return settings.scale === 1 ? output : multiply(output, settings.scale);
}

function gemmAttributes({ transposeLeft, transposeRight, scale }: Required<ProductOptions>): Attributes {
  return { transA: transposeLeft ? 1 : 0, transB: transposeRight ? 1 : 0, alpha: { float: scale } };
}

function productShape(
  left: Value,
  right: Value,
  options: { readonly transposeLeft: boolean; readonly transposeRight: boolean },
): Dim[] {
  const [rows, inner] = matrixDims(left.shape, options.transposeLeft);
  const [innerRight, columns] = matrixDims(right.shape, options.transposeRight);
  if (inner !== innerRight)
    throw new Error(`Shapes [${left.shape.join(', ')}] and [${right.shape.join(', ')}] have no matrix product.`);
  return [...broadcastShapes(left.shape.slice(0, -2), right.shape.slice(0, -2)), rows, columns];
}

function matrixDims(shape: Shape, isTransposed: boolean): readonly [Dim, Dim] {
  const [rows, columns] = [dimAt(shape, -2), dimAt(shape, -1)];
  return isTransposed ? [columns, rows] : [rows, columns];
}

function swapLast(value: Value): Value {
  const rank = value.shape.length;
  const leading = Array.from({ length: rank - 2 }, (_, axis) => axis);
  return transpose(value, [...leading, rank - 1, rank - 2]);
}
