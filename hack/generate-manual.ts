import { createProcessTerminal, exitCode } from '../pkg/terminal/index.js';
import { run } from '../pkg/cli/index.js';

/** `packaging/moor.1`: what `moor man` prints. */
export async function renderManualPage(): Promise<string> {
  let page = '';
  const out = (text: string) => {
    page += text;
  };
  const code = await run(['man'], { ...createProcessTerminal(), out });
  if (code !== exitCode.ok) throw new Error('the manual page could not be made');
  return page;
}
