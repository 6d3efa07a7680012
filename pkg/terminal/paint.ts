import picocolors from 'picocolors';

/** Functions that colour a text, or return it unchanged. */
export type Paint = Readonly<Record<'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold', (text: string) => string>>;

export const paint: (colours: boolean) => Paint = picocolors.createColors;
