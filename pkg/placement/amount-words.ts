const MEBIBYTE = 1024 ** 2;

/** How an amount of a kind reads: `500m cpu`, `64Mi memory`, and `3 containers` for what is only counted. */
export function amountWords(kind: string, amount: number): string {
  if (kind === 'cpu') return `${amount}m cpu`;
  return kind === 'memory' ? `${Math.floor(amount / MEBIBYTE)}Mi memory` : `${amount} ${kind}`;
}
