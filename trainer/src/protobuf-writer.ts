import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** Writes a protobuf message field by field, for formats without generated code. */
export class ProtobufWriter {
  readonly #writer = new BinaryWriter();

  int(field: number, value: number | bigint): this {
    this.#writer.tag(field, WireType.Varint).int64(value);
    return this;
  }

  float(field: number, value: number): this {
    this.#writer.tag(field, WireType.Bit32).float(value);
    return this;
  }

  string(field: number, text: string): this {
    this.#writer.tag(field, WireType.LengthDelimited).string(text);
    return this;
  }

  bytes(field: number, content: Uint8Array): this {
    this.#writer.tag(field, WireType.LengthDelimited).bytes(content);
    return this;
  }

  message(field: number, write: (writer: this) => void): this {
    this.#writer.tag(field, WireType.LengthDelimited).fork();
    write(this);
    this.#writer.join();
    return this;
  }

  finish(): Uint8Array {
    return this.#writer.finish();
  }
}
