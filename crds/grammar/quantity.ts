const CPU = /^(?:(\d{1,7})m|(\d{1,4})(?:\.(\d{1,3}))?)$/;
const MEMORY = /^(\d{1,16})(Ki|Mi|Gi|Ti|k|M|G|T)?$/;

const UNITS: Readonly<Record<string, number>> = {
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
};

/** Thousandths of a core: `500m` → 500, `1.5` → 1500. */
export function parseCpu(text: string): number | undefined {
  const match = CPU.exec(text);
  if (!match) return undefined;
  const [, millis, cores, fraction = ''] = match;
  return millis === undefined ? Number(cores) * 1000 + Number(fraction.padEnd(3, '0')) : Number(millis);
}

/** Bytes: `256Mi` → 268435456, `1G` → 1000000000. */
export function parseMemory(text: string): number | undefined {
  const match = MEMORY.exec(text);
  if (!match) return undefined;
  const bytes = Number(match[1]) * (match[2] === undefined ? 1 : UNITS[match[2]]!);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}
