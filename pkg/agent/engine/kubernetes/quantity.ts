const QUANTITY = /^(\d{1,18}(?:\.\d{0,9})?|\.\d{1,9})(n|u|m|[kMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,2})?$/;
const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const BINARY = 'KMGTPE';

/** An amount as Kubernetes writes it: `250m`, `1.5`, `64Mi`, `2e3`. Undefined when it is none. */
export function parseQuantity(text: string): number | undefined {
  const [whole, digits, unit = ''] = QUANTITY.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const amount = Number(digits);
  if (unit.endsWith('i')) return amount * 1024 ** (BINARY.indexOf(unit[0]!) + 1);
  if (/^[eE]./.test(unit)) return amount * 10 ** Number(unit.slice(1));
  return amount * 10 ** (DECIMAL[unit] ?? 0);
}
