/** Spells values as Python does in text: `True`, `None`, `1e-05`, `['a']`, `{'a': 1}`. */

/** A value of the template library. `type` is the name of its class. */
export type TemplateValue = { readonly type: string; readonly value: unknown };

/** `str(value)` */
export function pythonText(value: TemplateValue): string {
  if (value.type === 'StringValue') return String(value.value);
  return value.type === 'UndefinedValue' ? '' : pythonRepr(value);
}

/** `repr(value)` */
function pythonRepr({ type, value }: TemplateValue): string {
  switch (type) {
    case 'StringValue':
      return quoted(String(value));
    case 'BooleanValue':
      return value === true ? 'True' : 'False';
    case 'NullValue':
      return 'None';
    case 'UndefinedValue':
      return 'Undefined';
    case 'IntegerValue':
      return integer(Number(value));
    case 'FloatValue':
      return float(Number(value));
    case 'ArrayValue':
      return `[${listed(value)}]`;
    case 'TupleValue':
      return `(${listed(value)}${(value as readonly unknown[]).length === 1 ? ',' : ''})`;
    case 'ObjectValue':
    case 'NamespaceValue':
    case 'KeywordArgumentsValue':
      return `{${[...(value as ReadonlyMap<string, TemplateValue>)].map(entry).join(', ')}}`;
    default:
      throw new Error(`A template cannot print a value of type ${type}.`);
  }
}

function listed(members: unknown): string {
  return (members as readonly TemplateValue[]).map(pythonRepr).join(', ');
}

function entry([key, value]: readonly [string, TemplateValue]): string {
  return `${quoted(key)}: ${pythonRepr(value)}`;
}

function integer(value: number): string {
  return Number.isSafeInteger(value) ? String(value) : BigInt(value).toString();
}

/** Writes the shortest digits, as JavaScript does. It uses an exponent below 1e-4 and from 1e16 on. */
function float(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 16) return Number.isInteger(value) ? `${BigInt(value)}.0` : String(value);
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const inside = text.replaceAll(/[\\'\n\r\t]|(?! )[\p{C}\p{Z}]/gu, (character) => {
    if (character === "'") return quote === "'" ? "\\'" : "'";
    return escapes[character] ?? codePoint(character.codePointAt(0) ?? 0);
  });
  return `${quote}${inside}${quote}`;
}

/** Returns the escape of a character that cannot be printed. */
function codePoint(code: number): string {
  const hex = code.toString(16);
  if (code < 0x100) return `\\x${hex.padStart(2, '0')}`;
  return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}
