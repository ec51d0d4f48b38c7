/** A write-only protobuf encoder with just the wire types that an ONNX model needs. */

const initialBytes = 256;

export class ProtobufWriter {
  #bytes = Buffer.allocUnsafe(initialBytes);
  #length = 0;

  int(field: number, value: number | bigint): void {
    this.#tag(field, 0);
    this.#varint(BigInt.asUintN(64, BigInt(value)));
  }

  float(field: number, value: number): void {
    this.#tag(field, 5);
    this.#reserve(4);
    this.#length = this.#bytes.writeFloatLE(value, this.#length);
  }

  string(field: number, text: string): void {
    this.bytes(field, Buffer.from(text, 'utf8'));
  }

  bytes(field: number, content: Uint8Array): void {
    this.#tag(field, 2);
    this.#varint(BigInt(content.length));
    this.#reserve(content.length);
    this.#bytes.set(content, this.#length);
    this.#length += content.length;
  }

  message(field: number, write: (writer: ProtobufWriter) => void): void {
    const writer = new ProtobufWriter();
    write(writer);
    this.bytes(field, writer.finish());
  }

  /** Returns a view of the bytes written so far. It is valid until the next write. */
  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #tag(field: number, wireType: number): void {
    this.#varint(BigInt((field << 3) | wireType));
  }

  #varint(value: bigint): void {
    this.#reserve(10);
    let rest = value;
    while (rest >= 0x80n) {
      this.#bytes[this.#length++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#bytes[this.#length++] = Number(rest);
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + count));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
