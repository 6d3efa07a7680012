import type { Source } from './source-files.js';

/** Reasons that the table explains and nothing gives. That every given one is explained is for the compiler. */
export function findUnusedReasons(sources: readonly Source[], explained: readonly string[]): string[] {
  const texts = sources.filter(({ path }) => isProduct(path)).map(({ text }) => text);
  const isGiven = (word: string) =>
    texts.some(text => text.includes(`'${word}'`) || text.includes(`'deployment.${word}'`));
  return explained
    .filter(word => !isGiven(word))
    .map(word => `crds/reasons: nothing gives the reason ${word}: remove it`);
}

function isProduct(path: string): boolean {
  return !/\.(?:test|testing|contract)\.ts$|^hack\/|^e2e\/|^dev\/|^crds\/reasons\/(?!index\.ts)/.test(path);
}
