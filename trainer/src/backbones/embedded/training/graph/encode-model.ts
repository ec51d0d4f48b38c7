/**
 * Writes a graph as an ONNX ModelProto. Field numbers come from onnx.proto. Opset 18 and IR 9 are the oldest versions
 * with every operator that is used here, such as reductions with axes as inputs and ScatterElements with `add`.
 */

import { ProtobufWriter } from '../../../../protobuf-writer.js';
import type { ElementType, Shape } from './value.js';

const irVersion = 9;
const opsetVersion = 18;
const contribDomain = 'com.microsoft';

type TensorType = Exclude<ElementType, 'sequence'>;

const elementTypeCodes: Record<TensorType, number> = {
  float32: 1,
  uint8: 2,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
  float64: 11,
};
const attributeCodes = { float: 1, int: 2, string: 3, ints: 7 };

/** A bare number is an integer attribute; `{ float }` marks a float. */
export type Attribute = number | readonly number[] | { readonly float: number } | { readonly string: string };
export type Attributes = { readonly [name: string]: Attribute };

export type TensorContent = Float32Array | Float64Array | Int32Array | BigInt64Array | Uint8Array;

/** Bytes that are not part of the model file. The session receives them as `externalData`. */
export type ExternalTensor = { readonly location: string; readonly offset: number; readonly length: number };

export type EncodedTensor = {
  readonly name: string;
  readonly shape: readonly number[];
  readonly type: TensorType;
  readonly content: TensorContent | ExternalTensor;
};

export type EncodedNode = {
  readonly name: string;
  readonly operator: string;
  /** Uses the contributed operators of ONNX Runtime instead of the standard ones. */
  readonly isContrib: boolean;
  /** Names of the values. An empty name marks an optional input or output that is not used. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: Attributes;
};

export type EncodedPort = { readonly name: string; readonly shape: Shape; readonly type: ElementType };

export type EncodedGraph = {
  readonly nodes: readonly EncodedNode[];
  readonly initializers: readonly EncodedTensor[];
  readonly inputs: readonly EncodedPort[];
  readonly outputs: readonly EncodedPort[];
};

export function encodeModel(graph: EncodedGraph): Uint8Array {
  const model = new ProtobufWriter();
  model.int(1, irVersion);
  model.string(2, 'agentjet');
  model.message(7, (writer) => writeGraph(writer, graph));
  for (const [domain, version] of [
    ['', opsetVersion],
    [contribDomain, 1],
  ] as const) {
    model.message(8, (opset) => {
      opset.string(1, domain);
      opset.int(2, version);
    });
  }
  return model.finish();
}

function writeGraph(writer: ProtobufWriter, graph: EncodedGraph): void {
  for (const node of graph.nodes) writer.message(1, (message) => writeNode(message, node));
  writer.string(2, 'graph');
  for (const tensor of graph.initializers) writer.message(5, (message) => writeTensor(message, tensor));
  for (const port of graph.inputs) writer.message(11, (message) => writePort(message, port));
  for (const port of graph.outputs) writer.message(12, (message) => writePort(message, port));
}

function writeNode(writer: ProtobufWriter, node: EncodedNode): void {
  for (const input of node.inputs) writer.string(1, input);
  for (const output of node.outputs) writer.string(2, output);
  writer.string(3, node.name);
  writer.string(4, node.operator);
  for (const [name, attribute] of Object.entries(node.attributes)) {
    writer.message(5, (message) => writeAttribute(message, name, attribute));
  }
  if (node.isContrib) writer.string(7, contribDomain);
}

function writeAttribute(writer: ProtobufWriter, name: string, attribute: Attribute): void {
  writer.string(1, name);
  if (typeof attribute === 'number') {
    writer.int(3, attribute);
    writer.int(20, attributeCodes.int);
  } else if ('float' in attribute) {
    writer.float(2, attribute.float);
    writer.int(20, attributeCodes.float);
  } else if ('string' in attribute) {
    writer.string(4, attribute.string);
    writer.int(20, attributeCodes.string);
  } else {
    for (const item of attribute) writer.int(8, item);
    writer.int(20, attributeCodes.ints);
  }
}

function writeTensor(writer: ProtobufWriter, tensor: EncodedTensor): void {
  for (const dim of tensor.shape) writer.int(1, dim);
  writer.int(2, elementTypeCodes[tensor.type]);
  writer.string(8, tensor.name);
  const { content } = tensor;
  if ('location' in content) return writeExternalContent(writer, content);
  writer.bytes(9, new Uint8Array(content.buffer, content.byteOffset, content.byteLength));
}

function writeExternalContent(writer: ProtobufWriter, content: ExternalTensor): void {
  for (const [key, value] of Object.entries(content)) {
    writer.message(13, (entry) => {
      entry.string(1, key);
      entry.string(2, String(value));
    });
  }
  writer.int(14, 1);
}

function writePort(writer: ProtobufWriter, { name, shape, type }: EncodedPort): void {
  writer.string(1, name);
  writer.message(2, (message) => {
    if (type === 'sequence')
      message.message(4, (sequence) => sequence.message(1, (element) => writeTensorType(element, 'float32')));
    else writeTensorType(message, type, shape);
  });
}

function writeTensorType(writer: ProtobufWriter, type: TensorType, shape?: Shape): void {
  writer.message(1, (tensorType) => {
    tensorType.int(1, elementTypeCodes[type]);
    if (shape === undefined) return;
    tensorType.message(2, (message) => {
      for (const dim of shape)
        message.message(1, (entry) => (typeof dim === 'number' ? entry.int(1, dim) : entry.string(2, dim)));
    });
  });
}
