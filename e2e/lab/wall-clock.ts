import { existsSync, renameSync, writeFileSync } from 'node:fs';

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' };
const LIBRARY = `/usr/lib/${ARCHITECTURES[process.arch]}-linux-gnu/faketime/libfaketimeMT.so.1`;

/** The wall clock of a process of ours, which jumps when it is told to, as when somebody sets the time of a machine. Its monotonic clock goes on. */
export class WallClock {
  /** What a process gets to have this clock. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
    this.set(0);
    this.environment = {
      LD_PRELOAD: LIBRARY,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** Whether there is a library here that such a clock is made with. */
  static get isPossible(): boolean {
    return existsSync(LIBRARY);
  }

  /** Sets the clock so many seconds ahead of the time of the machine. The process sees it within a second. */
  set(seconds: number): void {
    const draft = `${this.#file}.new`;
    writeFileSync(draft, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}`);
    renameSync(draft, this.#file); // whoever reads it while it is written would read nothing
  }
}
