/**
 * Builds an ONNX graph out of values and differentiates it in reverse mode. Each rule adds its forward nodes and
 * records how an output gradient becomes input gradients. `backward` processes the records from last to first and adds
 * the nodes of the gradients to the same graph. This class contains nothing about any model. A size may be a symbol
 * whose value is set when the graph runs, so one graph serves every batch shape.
 */

import { copyAfter } from './copy-after.js';
import { encodeModel } from './encode-model.js';
import type { Attributes, EncodedNode, EncodedTensor, ExternalTensor, TensorContent } from './encode-model.js';
import { isSameShape } from './value.js';
import type { Dim, ElementType, Operand, Shape, Value } from './value.js';

/**
 * Adds nodes that turn the gradient of a rule's output into the gradient of one of its inputs, in that input's shape.
 */
export type Pullback = { readonly of: Value; readonly gradient: (outputGradient: Value) => Value };

export type GraphOptions = {
  /** The element type of every differentiable value. */
  readonly floatType?: 'float32' | 'float64';
  /**
   * Uses ONNX Runtime's fused CPU operators. They exist only in float32, and give wrong results on some other devices.
   */
  readonly isFused?: boolean;
};

type Node = {
  readonly operator: string;
  readonly inputs: readonly (Value | null)[];
  readonly outputs: readonly (Value | null)[];
  readonly attributes: Attributes;
  readonly isContrib: boolean;
};

type Initializer = Omit<EncodedTensor, 'name'> & { readonly name?: string };

/**
 * A part of the graph whose gradient is computed from `output`, or by building it again from its input; or the end of a
 * stage.
 */
type Record =
  | { readonly output: Value; readonly pullbacks: readonly Pullback[] }
  | { readonly output: Value; readonly input: Value; readonly build: (input: Value) => Value }
  | { readonly output: Value; readonly endsStage: true };

type NodeOptions = { readonly attributes?: Attributes; readonly isContrib?: boolean };
type OutputType = { readonly shape: Shape; readonly type?: ElementType };

export class Graph {
  readonly floatType: 'float32' | 'float64';
  readonly isFused: boolean;
  readonly #nodes: Node[] = [];
  readonly #inputs = new Map<string, Value>();
  readonly #outputs = new Map<string, Value>();
  readonly #initializers = new Map<Value, Initializer>();
  readonly #constants = new Map<string, Value>();
  readonly #dims = new Map<string, Value>();
  /** Parameters, and the values that are computed from them. `backward` computes gradients only for these. */
  readonly #tracked = new Set<Value>();
  readonly #tape: Record[] = [];
  /** The values whose gradients are results of `backward`. */
  readonly #wanted = new Set<Value>();
  /** Outputs, and the newest gradients of wanted values, for which no other gradient waits yet. */
  readonly #unawaited = new Map<Value, Value>();
  #isRecording = true;
  #isRecomputing = false;

  constructor(options: GraphOptions = {}) {
    this.floatType = options.floatType ?? 'float32';
    this.isFused = (options.isFused ?? true) && this.floatType === 'float32';
  }

  input(name: string, shape: Shape, type: ElementType = this.floatType): Value {
    if (this.#inputs.has(name)) throw new Error(`The graph already has an input "${name}".`);
    const value = this.#value({ shape, type });
    this.#inputs.set(name, value);
    return value;
  }

  /** Returns the input of that name. The first call adds it. */
  sharedInput(name: string, shape: Shape, type: ElementType = this.floatType): Value {
    return this.#inputs.get(name) ?? this.input(name, shape, type);
  }

  /** Adds an input that the caller does not give. Each run reads it from external data, because it is not a constant. */
  externalInput(name: string, shape: readonly number[], content: ExternalTensor): Value {
    const value = this.input(name, shape);
    this.#initializers.set(value, { shape, content, type: this.floatType });
    return value;
  }

  /** Adds an input whose gradient `backward` can compute. */
  parameter(name: string, shape: Shape): Value {
    return this.track(this.input(name, shape));
  }

  /** Makes `backward` compute the gradient of a value that is not computed from a parameter. */
  track(value: Value): Value {
    this.#tracked.add(value);
    return value;
  }

  output(name: string, value: Value): void {
    if (this.#outputs.has(name)) throw new Error(`The graph already has an output "${name}".`);
    const isProduced = this.#nodes.some((node) => node.outputs.includes(value));
    const isTaken = [...this.#outputs.values()].includes(value);
    this.#outputs.set(name, isProduced && !isTaken ? value : this.node('Identity', [value], value));
  }

  /** Adds a tensor inside the model, or outside it as external data. */
  initializer(
    shape: readonly number[],
    content: TensorContent | ExternalTensor,
    { type = this.floatType, name }: { readonly type?: EncodedTensor['type']; readonly name?: string } = {},
  ): Value {
    const value = this.#value({ shape, type });
    this.#initializers.set(value, { shape, content, type, ...(name !== undefined && { name }) });
    return value;
  }

  /** Adds a float scalar. */
  scalar(value: number): Value {
    return this.#constant(`${value}`, () => {
      const content = this.floatType === 'float32' ? Float32Array.of(value) : Float64Array.of(value);
      return this.initializer([], content);
    });
  }

  /** Adds an int64 vector, the type of shapes and axes. */
  integers(values: readonly number[]): Value {
    return this.#constant(`[${values.join(',')}]`, () =>
      this.initializer([values.length], BigInt64Array.from(values, BigInt), { type: 'int64' }),
    );
  }

  operand(operand: Operand): Value {
    return typeof operand === 'number' ? this.scalar(operand) : operand;
  }

  /** Adds a node with one output, which has no gradient unless `differentiable` records it. */
  node(operator: string, inputs: readonly (Value | null)[], output: OutputType, options: NodeOptions = {}): Value {
    const value = this.#value(output);
    this.#addNode(operator, inputs, [value], options);
    return value;
  }

  /** Adds a node with several outputs. Null leaves an output out. */
  nodes<const Outputs extends readonly (OutputType | null)[]>(
    operator: string,
    inputs: readonly (Value | null)[],
    outputs: Outputs,
    options: NodeOptions = {},
  ): { [Index in keyof Outputs]: Outputs[Index] extends null ? null : Value } {
    const values = outputs.map((output) => (output === null ? null : this.#value(output)));
    this.#addNode(operator, inputs, values, options);
    return values as { [Index in keyof Outputs]: Outputs[Index] extends null ? null : Value };
  }

  /**
   * Records that `output` is computed from the values of the pullbacks. Use the returned value in place of `output`.
   */
  differentiable(output: Value, pullbacks: readonly Pullback[]): Value {
    const needed = pullbacks.filter((pullback) => this.#tracked.has(pullback.of));
    if (!this.#isRecording || needed.length === 0) return output;
    this.#tracked.add(output);
    this.#tape.push({ output, pullbacks: needed });
    return output;
  }

  /** True while `backward` builds a part again. */
  get isRecomputing(): boolean {
    return this.#isRecomputing;
  }

  /**
   * Returns build(input) and keeps only the input for the gradient. `backward` builds the part again, which takes time
   * and saves the memory of all values inside. Other values that `build` reads must be parameters or have no gradient.
   */
  recomputed(input: Value, build: (input: Value) => Value): Value {
    const output = this.withoutGradient(() => build(input));
    if (!this.#isRecording) return output;
    this.#tape.push({ output: this.track(output), input, build });
    return output;
  }

  /**
   * Ends a stage at the value. The gradients of everything before it then wait for all outputs, and for the gradients of
   * all parameters that are used after it. ONNX Runtime would compute these last, and keep until then what they need of
   * every stage.
   */
  endStage(value: Value): Value {
    if (this.#isRecording && this.#tracked.has(value)) this.#tape.push({ output: value, endsStage: true });
    return value;
  }

  /** Builds nodes that `backward` ignores, such as those inside a layer that has its own pullback. */
  withoutGradient<Result>(build: () => Result): Result {
    const wasRecording = this.#isRecording;
    this.#isRecording = false;
    const result = build();
    this.#isRecording = wasRecording;
    return result;
  }

  /**
   * Returns a scalar's gradient with respect to each value, in the value's shape. Call it once, after the whole forward
   * pass.
   */
  backward(loss: Value, values: readonly Value[]): readonly Value[] {
    const gradients = new Map<Value, Value>([[loss, this.scalar(1)]]);
    for (const output of this.#outputs.values()) this.#unawaited.set(output, output);
    for (const value of values) this.#wanted.add(value);
    this.#isRecording = false;
    this.#propagate(gradients, this.#tape);
    return values.map((value) => gradients.get(value) ?? this.#noPath());
  }

  /** Declares a symbol as the product of others, such as N = B * T. */
  defineDim(symbol: string, factors: readonly Dim[]): string {
    if (this.#dims.has(symbol)) return symbol;
    const [first, ...rest] = factors.map((factor) => this.dim(factor));
    if (first === undefined) throw new Error(`The dim "${symbol}" needs a factor.`);
    const product = rest.reduce((left, right) => this.node('Mul', [left, right], { shape: [1], type: 'int64' }), first);
    this.#dims.set(symbol, product);
    return symbol;
  }

  /** Returns a dim as an int64 vector of one element. Symbols come from the shapes of inputs, or from `defineDim`. */
  dim(dim: Dim): Value {
    if (typeof dim === 'number') return this.integers([dim]);
    const known = this.#dims.get(dim) ?? this.#dimOfInput(dim);
    this.#dims.set(dim, known);
    return known;
  }

  /** Returns a shape as an int64 vector. */
  shape(shape: Shape): Value {
    const sizes = shape.filter((dim) => typeof dim === 'number');
    if (sizes.length === shape.length) return this.integers(sizes);
    const key = `shape:${shape.join(',')}`;
    return this.#constant(key, () =>
      this.node(
        'Concat',
        shape.map((dim) => this.dim(dim)),
        { shape: [shape.length], type: 'int64' },
        { attributes: { axis: 0 } },
      ),
    );
  }

  /** Returns the model's bytes. Nodes and initializers that no output needs are left out. */
  encode(): Uint8Array {
    const nodes = this.#neededNodes();
    const names = new Map<Value | null, string>([[null, '']]);
    for (const [name, value] of this.#inputs) names.set(value, name);
    for (const [name, value] of this.#outputs) names.set(value, name);
    const nameOf = (value: Value | null): string => {
      const name = names.get(value) ?? (value && this.#initializers.get(value)?.name) ?? `value_${names.size}`;
      names.set(value, name);
      return name;
    };
    const used = new Set(nodes.flatMap((node) => node.inputs));
    const initializers = [...this.#initializers].filter(([value]) => used.has(value));
    return encodeModel({
      nodes: nodes.map(
        (node, index): EncodedNode => ({
          ...node,
          name: `${node.operator}_${index}`,
          inputs: node.inputs.map(nameOf),
          outputs: node.outputs.map(nameOf),
        }),
      ),
      initializers: initializers.map(([value, initializer]) => ({ ...initializer, name: nameOf(value) })),
      inputs: [...this.#inputs]
        .filter(([, value]) => used.has(value))
        .map(([name, { shape, type }]) => ({ name, shape, type })),
      outputs: [...this.#outputs].map(([name, { shape, type }]) => ({ name, shape, type })),
    });
  }

  #value(output: OutputType): Value {
    return { graph: this, shape: output.shape, type: output.type ?? this.floatType };
  }

  #addNode(
    operator: string,
    inputs: readonly (Value | null)[],
    outputs: readonly (Value | null)[],
    options: NodeOptions,
  ): void {
    this.#nodes.push({
      operator,
      inputs,
      outputs,
      attributes: options.attributes ?? {},
      isContrib: options.isContrib ?? false,
    });
  }

  #constant(key: string, create: () => Value): Value {
    const value = this.#constants.get(key) ?? create();
    this.#constants.set(key, value);
    return value;
  }

  #propagate(gradients: Map<Value, Value>, tape: readonly Record[]): void {
    for (const record of tape.toReversed()) {
      const outputGradient = gradients.get(record.output);
      if (outputGradient === undefined) continue;
      if ('build' in record) this.#propagateAgain(gradients, record, outputGradient);
      else if ('pullbacks' in record)
        for (const { of, gradient } of record.pullbacks) this.#accumulate(gradients, of, gradient(outputGradient));
      else gradients.set(record.output, this.#afterStage(outputGradient));
    }
  }

  #afterStage(gradient: Value): Value {
    const copy = copyAfter(gradient, [...this.#unawaited.values()]);
    this.#unawaited.clear();
    return copy;
  }

  #propagateAgain(
    gradients: Map<Value, Value>,
    { input, build }: Extract<Record, { readonly input: Value }>,
    outputGradient: Value,
  ): void {
    // Otherwise ONNX Runtime would merge the part with its first computation, or compute it too early.
    const copy = copyAfter(input, [outputGradient]);
    const isTracked = this.#tracked.has(input);
    if (isTracked) this.track(copy);
    const start = this.#tape.length;
    [this.#isRecording, this.#isRecomputing] = [true, true];
    const output = build(copy);
    [this.#isRecording, this.#isRecomputing] = [false, false];
    gradients.set(output, outputGradient);
    this.#propagate(gradients, this.#tape.splice(start));
    if (isTracked) this.#accumulate(gradients, input, gradients.get(copy) ?? this.#noPath());
  }

  #accumulate(gradients: Map<Value, Value>, of: Value, gradient: Value): void {
    if (!isSameShape(of.shape, gradient.shape)) {
      throw new Error(
        `A gradient of shape [${gradient.shape.join(', ')}] reached a value of shape [${of.shape.join(', ')}].`,
      );
    }
    const known = gradients.get(of);
    const sum = known === undefined ? gradient : this.node('Add', [known, gradient], of);
    gradients.set(of, sum);
    if (this.#wanted.has(of)) this.#unawaited.set(of, sum);
  }

  #noPath(): never {
    throw new Error('backward() was asked for the gradient of a value that the loss does not depend on.');
  }

  #dimOfInput(symbol: string): Value {
    for (const input of this.#inputs.values()) {
      const axis = input.shape.indexOf(symbol);
      if (axis < 0) continue;
      return this.node('Shape', [input], { shape: [1], type: 'int64' }, { attributes: { start: axis, end: axis + 1 } });
    }
    throw new Error(`No input has the symbolic dim "${symbol}", and it was not defined.`);
  }

  #neededNodes(): Node[] {
    const needed = new Set<Value | null>(this.#outputs.values());
    const kept: Node[] = [];
    for (const node of this.#nodes.toReversed()) {
      if (!node.outputs.some((output) => output !== null && needed.has(output))) continue;
      for (const input of node.inputs) needed.add(input);
      kept.push(node);
    }
    return kept.reverse();
  }
}
