import type { FinishedSpan, SpanSink } from './tracer.js';

/** Keeps spans for tests to look at. */
export class RecordedSpans implements SpanSink {
  readonly spans: FinishedSpan[] = [];

  add(span: FinishedSpan): void {
    this.spans.push(span);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Each span by its name, with the name of the span that it is a part of. */
  listParents(): readonly (readonly [name: string, parent: string | undefined])[] {
    const names = new Map(this.spans.map(({ context, name }) => [context.spanId, name]));
    return this.spans.map(({ name, parentId = '' }) => [name, names.get(parentId)] as const);
  }
}
