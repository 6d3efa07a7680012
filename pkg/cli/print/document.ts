/** How results are printed. `table` is for people; the others are for programs. */
export type Format = 'table' | 'wide' | 'json' | 'yaml' | 'name';

export const formats: readonly Format[] = ['table', 'wide', 'json', 'yaml', 'name'];

/** A whole document, for programs. */
export async function documentText(value: unknown, format: 'json' | 'yaml'): Promise<string> {
  if (format === 'json') return `${JSON.stringify(value, null, 2)}\n`;
  const { stringify } = await import('yaml');
  return stringify(value, { lineWidth: 0 });
}
