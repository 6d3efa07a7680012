/** One line of a watch, as a test looks at it. */
export interface TestWatchLine {
  readonly type: string;
  readonly cursor: string;
  readonly object: (Record<string, unknown> & { name?: string; replicas?: number }) | null;
  /** Only of server-sent events. */
  readonly id?: string;
}

const PATIENCE_MS = 60_000;

/** Reads a watch line by line, with a deadline. */
export class WatchReader {
  readonly #lines: TestWatchLine[] = [];
  readonly #abort: AbortController;
  #wake: () => void = () => undefined;
  #over = false;

  private constructor(body: ReadableStream<Uint8Array>, abort: AbortController) {
    this.#abort = abort;
    this.#read(body).catch(() => undefined);
  }

  static async open(url: string, headers: Record<string, string>): Promise<WatchReader> {
    const abort = new AbortController();
    const response = await fetch(url, { headers, signal: abort.signal });
    if (!response.ok || !response.body) throw new Error(`the watch was answered ${response.status}`);
    return new WatchReader(response.body, abort);
  }

  /** The next lines, so many. */
  async take(count: number): Promise<TestWatchLine[]> {
    const deadline = performance.now() + PATIENCE_MS;
    while (this.#lines.length < count && !this.#over && performance.now() < deadline) await this.#more();
    if (this.#lines.length < count) throw new Error(`${this.#lines.length} of ${count} lines came`);
    return this.#lines.splice(0, count);
  }

  /** Everything until the end. */
  async rest(): Promise<TestWatchLine[]> {
    while (!this.#over) await this.#more();
    return this.#lines.splice(0);
  }

  close(): void {
    this.#abort.abort();
  }

  #more(): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, 100);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    let text = '';
    let id: string | undefined;
    try {
      for await (const chunk of body) {
        text += Buffer.from(chunk).toString('utf8');
        const parts = text.split('\n');
        text = parts.pop() ?? '';
        for (const part of parts) {
          if (part.startsWith('id: ')) id = part.slice(4);
          else if (part !== '') this.#lines.push(parseWatchLine(part, id));
        }
        this.#wake();
      }
    } finally {
      this.#over = true;
      this.#wake();
    }
  }
}

function parseWatchLine(text: string, id: string | undefined): TestWatchLine {
  const line = JSON.parse(text.replace(/^data: /, '')) as TestWatchLine;
  return id === undefined ? line : { ...line, id };
}
