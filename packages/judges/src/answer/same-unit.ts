const names = [
  'cm centimeter centimetre 厘米',
  'mm millimeter millimetre',
  'm meter metre 米',
  'km kilometer kilometre 千米 公里',
  'in inch inche',
  'ft foot feet',
  'yd yard',
  'mi mile',
  'mg milligram',
  'g gram 克',
  'kg kilogram 千克 公斤',
  'lb pound',
  'oz ounce',
  'l liter litre',
  'ml milliliter millilitre',
  's sec second 秒',
  'min minute 分钟',
  'h hr hour 小时',
  '$ us$ dollar usd',
  '€ euro eur',
  '£ gbp',
  '₹ inr rs rupee',
  '元 yuan cny rmb',
  '% percent percentage',
  '° degree deg 度',
  'mph',
  'kph kmh',
  'ms millisecond',
  'kb kilobyte',
  'mb megabyte',
  'gb gigabyte',
  'hz hertz',
  'khz',
  'kw kilowatt',
  'kwh',
  'pa pascal',
  'kpa',
  'kj',
  'kcal',
  'ev',
  'mol mole',
  'rad radian',
];
const nameOf = new Map(
  names.flatMap((line) => line.split(' ').map((name) => [name, line.split(' ')[0] ?? name] as const)),
);

/** A unit may be missing on one side. Two units must be the same. */
export function hasFittingUnit(wanted: string, found: string): boolean {
  return wanted === '' || found === '' || normalUnit(wanted) === normalUnit(found);
}

/** Whether the unit means hundredths. */
export function isPercent(unit: string): boolean {
  return normalUnit(unit) === '%';
}

export function isDegree(unit: string): boolean {
  return normalUnit(unit) === '°';
}

function normalUnit(unit: string): string {
  const plain = unit
    .toLowerCase()
    .replaceAll(/\bper cent\b/g, '%')
    .replaceAll(/\bsquare ([a-z]+)/g, '$1^2')
    .replaceAll(/\bcubic ([a-z]+)/g, '$1^3');
  return (plain.match(/[a-z]+\$?|\p{Lo}+|[^\sa-z.()]/gu) ?? [])
    .map((part) => nameOf.get(part) ?? nameOf.get(singular(part)) ?? singular(part))
    .join('');
}

function singular(word: string): string {
  return word.replace(/(?<=\w{2})s$/, '');
}

export function isKnownUnit(unit: string): boolean {
  const name = unit.toLowerCase();
  return nameOf.has(name) || nameOf.has(singular(name));
}
