import type { Context, Test } from 'mocha';

/** Skips a test, or from `before` each of its suite. Their titles, which a run lists at its end, say why, and what would help. */
export function skip(context: Context, because: string): never {
  const name = (test: Pick<Test, 'title'> | undefined) => {
    if (test) test.title += ` (skipped: ${because})`;
  };
  const { test, currentTest } = context;
  if (test?.title.startsWith('"before all"')) test.parent?.eachTest(name);
  else name(test?.title.startsWith('"before each"') ? currentTest : test);
  return context.skip();
}
