/** A block of commands of a page, and why no test runs it, where that is so. */
export interface CommandBlock {
  readonly commands: string;
  readonly skipped?: string;
}

const BLOCK = /^```sh\b *([^\n]*)\n(.*?)^```$/gms;
const SKIP = /^skip="([^"]+)"$/;

/** The blocks of shell commands of a page, in order. Each must say that it is run, or why it is not. */
export function readCommandBlocks(markdown: string): readonly CommandBlock[] {
  return Array.from(markdown.matchAll(BLOCK), ([, mark = '', commands = '']) => {
    if (mark === 'run') return { commands };
    const [, skipped] = SKIP.exec(mark) ?? [];
    if (skipped === undefined) throw new Error(`a block says neither run nor skip="why": ${commands}`);
    return { commands, skipped };
  });
}

/** A text with other words for some, one after the other, each also in what those before it have put there. */
export function replaceWords(text: string, words: Readonly<Record<string, string>>): string {
  return Object.entries(words).reduce((replaced, [from, to]) => replaced.replaceAll(from, to), text);
}
