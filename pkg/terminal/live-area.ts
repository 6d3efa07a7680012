/** The lower part of a terminal, redrawn again and again. */
export interface LiveArea {
  /** Replaces what was drawn before. */
  draw(lines: readonly string[]): void;
}

const ESCAPE = '\u001b';
const SGR = new RegExp(`(${ESCAPE}\\[[\\d;]{0,16}m)`);
const RESET = `${ESCAPE}[0m`;
/** From here on most characters take two columns. */
const WIDE_FROM = 0x1100;

/** The beginning of a line that fits, colours not counted; `…` marks a cut. */
export function cutToWidth(line: string, width: number): string {
  let [room, cut] = [width, ''];
  for (const part of line.split(SGR)) {
    if (SGR.test(part)) {
      cut += part;
      continue;
    }
    for (const character of part) {
      const size = character.codePointAt(0)! >= WIDE_FROM ? 2 : 1;
      if (size >= room && !isRest(line, cut, character, room - size))
        return `${cut}…${line.includes(ESCAPE) ? RESET : ''}`;
      room -= size;
      cut += character;
    }
  }
  return cut;
}

/** Whether the character is the last one, and still fits. */
function isRest(line: string, cut: string, character: string, left: number): boolean {
  const rest = line.slice(cut.length + character.length).split(SGR);
  return left >= 0 && rest.every(part => part === '' || SGR.test(part));
}

/** What to write so that `lines` take the place of the `before` rows drawn last, and how many rows they take. */
export function planDraw(
  before: number,
  lines: readonly string[],
  size: { readonly width: number; readonly height: number },
): { readonly text: string; readonly rows: number } {
  // The last row stays free: a line break there would scroll, and the rows above could not be reached any more.
  const most = Math.max(1, size.height - 1);
  const shown = lines.length <= most ? lines : [...lines.slice(0, most - 1), `… ${lines.length - most + 1} more lines`];
  const up = before > 0 ? `${ESCAPE}[${before}A` : '';
  const rows = shown.map(line => `${cutToWidth(line, size.width)}${ESCAPE}[K\n`);
  return { text: `${up}\r${rows.join('')}${ESCAPE}[J`, rows: shown.length };
}
