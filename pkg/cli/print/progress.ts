import type { Terminal } from '../../terminal/index.js';

const WIDTH = 24;

/** `[██████░░░░] 60%` of what is known to come; nothing where that is not known. */
export function formatBar(done: number | undefined, total: number | undefined): string {
  if (done === undefined || !total) return '';
  const share = Math.min(1, Math.max(0, done / total));
  const filled = Math.floor(share * WIDTH);
  return `[${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}] ${Math.floor(share * 100)}%`;
}

/** What a command that waits shows meanwhile. */
interface ProgressLine {
  show(line: string): void;
  /** Gives the place back to what is printed next. */
  end(): void;
}

/** One line, redrawn where the terminal can; elsewhere each that differs from the last, as a remark. */
export function startProgress({ live, err }: Pick<Terminal, 'live' | 'err'>): ProgressLine {
  let last = '';
  return {
    show(line) {
      if (line === last) return;
      last = line;
      if (live) live.draw([line]);
      else err(`${line}\n`);
    },
    end() {
      if (live && last !== '') live.draw([]);
      last = '';
    },
  };
}
